"""Faults of recordings, found before anything is fitted: clocks, units, other robots, stalls."""

from trueup.identify.faults.flaw import Flaw as Flaw
from trueup.identify.faults.flaw import Remedy as Remedy
from trueup.identify.faults.flaw import mended as mended
from trueup.identify.faults.flaw import said as said
