"""Failure analysis: where in an episode it fails, how, on what evidence; and what goes with it."""

from trueup.diagnose.failures.analysis import EpisodeFailure as EpisodeFailure
from trueup.diagnose.failures.analysis import FailureAnalysis as FailureAnalysis
from trueup.diagnose.failures.analysis import analysed as analysed
from trueup.diagnose.failures.drawing import save_failures as save_failures
from trueup.diagnose.failures.event import Event as Event
from trueup.diagnose.failures.event import Happened as Happened
from trueup.diagnose.failures.labels.contrast import Contrast as Contrast
from trueup.diagnose.failures.labels.contrast import Level as Level
from trueup.diagnose.failures.labels.labels import Label as Label
from trueup.diagnose.failures.labels.labels import LabelAnalysis as LabelAnalysis
from trueup.diagnose.failures.labels.labels import labelled as labelled
from trueup.diagnose.failures.labels.table import Table as Table
from trueup.diagnose.failures.phases import Handling as Handling
from trueup.diagnose.failures.phases import Phase as Phase
from trueup.diagnose.failures.phases import Span as Span
