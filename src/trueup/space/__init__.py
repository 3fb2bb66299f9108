"""The ways a simulated world can differ from ours, as one typed space of parameters."""

from trueup.space.gap import Gap as Gap
from trueup.space.joint import Joint as Joint
from trueup.space.joint import JointNormal as JointNormal
from trueup.space.joint import JointSamples as JointSamples
from trueup.space.parameter import Parameter as Parameter
from trueup.space.parameter import ValueOutOfBounds as ValueOutOfBounds
from trueup.space.point import Point as Point
from trueup.space.point import Points as Points
from trueup.space.prior import Fixed as Fixed
from trueup.space.prior import LogNormal as LogNormal
from trueup.space.prior import LogUniform as LogUniform
from trueup.space.prior import Mixture as Mixture
from trueup.space.prior import Normal as Normal
from trueup.space.prior import Prior as Prior
from trueup.space.prior import Samples as Samples
from trueup.space.prior import Uniform as Uniform
from trueup.space.space import Space as Space
