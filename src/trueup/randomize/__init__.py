"""Which world each episode gets: plans that draw points, curricula that move, and coverage."""

from trueup.randomize.automatic import Automatic as Automatic
from trueup.randomize.coverage import Coverage as Coverage
from trueup.randomize.coverage import Covered as Covered
from trueup.randomize.coverage import coverage as coverage
from trueup.randomize.designs import FromPrior as FromPrior
from trueup.randomize.designs import Grid as Grid
from trueup.randomize.designs import LatinHypercube as LatinHypercube
from trueup.randomize.designs import Sobol as Sobol
from trueup.randomize.entropy import MaximumEntropy as MaximumEntropy
from trueup.randomize.plan import Plan as Plan
from trueup.randomize.preview import Drawn as Drawn
from trueup.randomize.preview import marginals as marginals
from trueup.randomize.preview import previewed as previewed
from trueup.randomize.registry import PLANS as PLANS
from trueup.randomize.registry import plan_named as plan_named
