"""Robots, scenes and tasks: a world and a space become one compiled model and its field writes."""

from trueup.worlds.compiled import Compiled as Compiled
from trueup.worlds.compiled import FieldCollision as FieldCollision
from trueup.worlds.compiled import Numbers as Numbers
from trueup.worlds.interface import columns_of as columns_of
from trueup.worlds.interface import interface_of as interface_of
from trueup.worlds.registry import get as get
from trueup.worlds.registry import names as names
from trueup.worlds.registry import register as register
from trueup.worlds.scene import MissingSensor as MissingSensor
from trueup.worlds.scene import Readings as Readings
from trueup.worlds.scene import Scene as Scene
from trueup.worlds.scene import sensor_slots as sensor_slots
from trueup.worlds.world import Signal as Signal
from trueup.worlds.world import World as World
