"""A policy from demonstrations: behaviour cloning, one step or many steps ahead."""

from trueup.train.imitation.cloning import clone as clone
from trueup.train.imitation.cotraining import Cotrained as Cotrained
from trueup.train.imitation.cotraining import cotrain as cotrain
from trueup.train.imitation.cotraining import imitation_error as imitation_error
from trueup.train.imitation.one_step import one_step as one_step
from trueup.train.imitation.pictures import Encoder as Encoder
from trueup.train.imitation.pictures import seeing as seeing
from trueup.train.imitation.result import Cloned as Cloned
from trueup.train.imitation.result import Progress as Progress
from trueup.train.imitation.settings import Cloning as Cloning
from trueup.train.imitation.settings import Portion as Portion
