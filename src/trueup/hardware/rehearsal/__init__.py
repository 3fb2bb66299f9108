"""A robot that is played by physics in a process of its own, and hides its truth."""

from trueup.hardware.rehearsal.client import RehearsalRobot as RehearsalRobot
from trueup.hardware.rehearsal.orders import Orders as Orders
