"""One record of a robot at work, simulated or real: named signals with units, each on its clock."""

from trueup.episodes.episode import Channel as Channel
from trueup.episodes.episode import Episode as Episode
from trueup.episodes.episode import Outcome as Outcome
from trueup.episodes.episode import Video as Video
from trueup.episodes.take import Take as Take
