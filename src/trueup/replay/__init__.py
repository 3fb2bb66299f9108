"""An episode again in a world, and how far the two lie apart."""

from trueup.replay.alignment import Alignment as Alignment
from trueup.replay.alignment import alignment_of as alignment_of
from trueup.replay.alignment import lag_of as lag_of
from trueup.replay.alignment import realigned as realigned
from trueup.replay.metrics import Errors as Errors
from trueup.replay.metrics import SignalErrors as SignalErrors
from trueup.replay.metrics import errors_of as errors_of
from trueup.replay.pictures.chart import save_chart as save_chart
from trueup.replay.pictures.drawing import save_drawing as save_drawing
from trueup.replay.pictures.film import save_side_by_side as save_side_by_side
from trueup.replay.pictures.panels import Panel as Panel
from trueup.replay.pictures.panels import main_signal as main_signal
from trueup.replay.pictures.panels import panels_of as panels_of
from trueup.replay.replay import Replay as Replay
from trueup.replay.replay import Track as Track
from trueup.replay.replayer import Replayer as Replayer
from trueup.replay.replayer import replayed as replayed
from trueup.replay.settling import Settling as Settling
from trueup.replay.settling import settling_of as settling_of
from trueup.replay.summary import Summary as Summary
from trueup.replay.summary import summary_of as summary_of
