"""Many verified demonstrations from few sources."""

from trueup.generate.advised import Advisor as Advisor
from trueup.generate.advised import advisor as advisor
from trueup.generate.generation import Generated as Generated
from trueup.generate.generation import generate as generate
from trueup.generate.motion.legs import Leg as Leg
from trueup.generate.motion.legs import Source as Source
from trueup.generate.motion.scripts import scripted as scripted
from trueup.generate.order import Order as Order
from trueup.generate.shelf import Shelf as Shelf
from trueup.generate.sources import Recorded as Recorded
from trueup.generate.sources import recorded as recorded
from trueup.generate.trying import tried as tried
