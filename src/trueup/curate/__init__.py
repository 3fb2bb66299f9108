"""Which demonstrations to train on: a keep-list with reasons, weights, and a discriminator."""

from trueup.curate.copying import copy_kept as copy_kept
from trueup.curate.curation import Settings as Settings
from trueup.curate.curation import curate as curate
from trueup.curate.reading import Lent as Lent
from trueup.curate.verdict import KeepList as KeepList
from trueup.curate.verdict import Reason as Reason
from trueup.curate.verdict import Verdict as Verdict
