"""What the robot really is: parameters and noise from recordings, and how sure."""

from trueup.identify.allan import AllanNoise as AllanNoise
from trueup.identify.allan import Strength as Strength
from trueup.identify.allan import allan_noise as allan_noise
from trueup.identify.estimate import Estimate as Estimate
from trueup.identify.estimate import Finding as Finding
from trueup.identify.estimate import Misfit as Misfit
from trueup.identify.identify import identify as identify
