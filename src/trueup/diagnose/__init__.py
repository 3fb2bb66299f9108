"""Which gap explains the lost success, and how sure; where episodes fail, and what to expect."""

from trueup.diagnose.bank import Bank as Bank
from trueup.diagnose.bank import Size as Size
from trueup.diagnose.bank import built as built
from trueup.diagnose.diagnose import FEWEST as FEWEST
from trueup.diagnose.diagnose import Case as Case
from trueup.diagnose.diagnose import belief_of as belief_of
from trueup.diagnose.diagnose import diagnose as diagnose
from trueup.diagnose.gap_report import UNEXPLAINED as UNEXPLAINED
from trueup.diagnose.gap_report import Departure as Departure
from trueup.diagnose.gap_report import GapReport as GapReport
from trueup.diagnose.gap_report import Interaction as Interaction
from trueup.diagnose.gap_report import Rate as Rate
from trueup.diagnose.gap_report import Share as Share
from trueup.diagnose.shapley import Attribution as Attribution
from trueup.diagnose.shapley import Beyond as Beyond
from trueup.diagnose.shapley import attributed as attributed
from trueup.diagnose.trialed import Trials as Trials
from trueup.diagnose.trialed import judged as judged
