"""The whole circle as one resumable job: from "works in sim" to "works on the robot"."""

from trueup.loop.folder import Origin as Origin
from trueup.loop.job import Job as Job
from trueup.loop.journal import Entry as Entry
from trueup.loop.journal import Journal as Journal
from trueup.loop.journal import State as State
from trueup.loop.running import Result as Result
from trueup.loop.running import run as run
from trueup.loop.settings import Settings as Settings
from trueup.loop.stopping import Stop as Stop
from trueup.loop.stopping import Why as Why
from trueup.loop.stopping import stop_after as stop_after
from trueup.loop.truing import TruedUp as TruedUp
from trueup.loop.truing import trued_up as trued_up
