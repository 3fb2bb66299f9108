"""A policy from reward: PPO on many randomized worlds at once."""

from trueup.train.environment import Environment as Environment
from trueup.train.look import Success as Success
from trueup.train.progress import Progress as Progress
from trueup.train.run import Run as Run
from trueup.train.run import Trained as Trained
from trueup.train.settings import Settings as Settings
from trueup.train.trainer import Trainer as Trainer
