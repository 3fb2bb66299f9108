"""What the robot really is: parameters and noise from recordings, and how sure."""

from trueup.identify.allan import AllanNoise as AllanNoise
from trueup.identify.allan import Strength as Strength
from trueup.identify.allan import allan_noise as allan_noise
from trueup.identify.check import Check as Check
from trueup.identify.check import checked as checked
from trueup.identify.choose import BASE as BASE
from trueup.identify.choose import Choice as Choice
from trueup.identify.estimate import HOLLOW as HOLLOW
from trueup.identify.estimate import Estimate as Estimate
from trueup.identify.estimate import Finding as Finding
from trueup.identify.estimate import Misfit as Misfit
from trueup.identify.identify import chosen_from as chosen_from
from trueup.identify.identify import identify as identify
from trueup.identify.noise import NoiseModel as NoiseModel
from trueup.identify.noise import SensorNoise as SensorNoise
from trueup.identify.noise import noise_model as noise_model
from trueup.identify.section import save_section as save_section
from trueup.identify.timing import timing as timing
from trueup.identify.usable import readable as readable
from trueup.identify.usable import usable as usable
