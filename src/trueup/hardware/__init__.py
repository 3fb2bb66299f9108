"""Robots behind one contract: a real arm, or a rehearsal robot that hides its truth."""

from trueup.hardware.check import ContractBroken as ContractBroken
from trueup.hardware.check import Finding as Finding
from trueup.hardware.check import check_robot as check_robot
from trueup.hardware.clock import Clock as Clock
from trueup.hardware.clock import WallClock as WallClock
from trueup.hardware.guard import TABLETOP as TABLETOP
from trueup.hardware.guard import Box as Box
from trueup.hardware.guard import Guard as Guard
from trueup.hardware.guard import Limits as Limits
from trueup.hardware.guard import Stopped as Stopped
from trueup.hardware.keys import Keys as Keys
from trueup.hardware.opening import open_robot as open_robot
from trueup.hardware.pace import Pace as Pace
from trueup.hardware.pace import Timing as Timing
from trueup.hardware.robot import Robot as Robot
from trueup.hardware.robot import RobotLost as RobotLost
from trueup.hardware.watchdog import Watchdog as Watchdog
