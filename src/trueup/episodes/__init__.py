"""One record of a robot at work, simulated or real: named signals with units, each on its clock."""

from trueup.episodes.conversion import convert as convert
from trueup.episodes.dataset import Dataset as Dataset
from trueup.episodes.dataset import Summary as Summary
from trueup.episodes.episode import Channel as Channel
from trueup.episodes.episode import Episode as Episode
from trueup.episodes.episode import Outcome as Outcome
from trueup.episodes.episode import Video as Video
from trueup.episodes.imports.importing import import_recordings as import_recordings
from trueup.episodes.imports.mapping import load_mapping as load_mapping
from trueup.episodes.take import Take as Take
from trueup.episodes.units import JointUnits as JointUnits
from trueup.episodes.validation import Problem as Problem
from trueup.episodes.validation import problems as problems
from trueup.episodes.writer import Writer as Writer
