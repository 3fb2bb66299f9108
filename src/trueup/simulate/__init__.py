"""Engines that step many worlds, one contract for all."""

from trueup.simulate.contract import Divergence as Divergence
from trueup.simulate.contract import Step as Step
from trueup.simulate.contract import Worlds as Worlds
from trueup.simulate.cpu import CpuWorlds as CpuWorlds
from trueup.simulate.render import Camera as Camera
from trueup.simulate.render import NoGraphics as NoGraphics
from trueup.simulate.render import mosaic as mosaic
from trueup.simulate.render import save_picture as save_picture
from trueup.simulate.rollout import Rollout as Rollout
from trueup.simulate.rollout import Trajectory as Trajectory
from trueup.simulate.video import save_video as save_video
