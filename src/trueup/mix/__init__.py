"""How much of which demonstrations: what the next ones from the robot are worth."""

from trueup.mix.advice import Advice as Advice
from trueup.mix.advice import Amount as Amount
from trueup.mix.advice import advised as advised
from trueup.mix.curve import Curve as Curve
from trueup.mix.curve import fitted as fitted
from trueup.mix.runs import Run as Run
from trueup.mix.runs import load_runs as load_runs
from trueup.mix.words import sentences as sentences
