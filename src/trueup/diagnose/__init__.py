"""Which gap explains the lost success, and how sure; where episodes fail, and what to expect."""

from trueup.diagnose.gap_report import UNEXPLAINED as UNEXPLAINED
from trueup.diagnose.gap_report import Departure as Departure
from trueup.diagnose.gap_report import GapReport as GapReport
from trueup.diagnose.gap_report import Interaction as Interaction
from trueup.diagnose.gap_report import Rate as Rate
from trueup.diagnose.gap_report import Share as Share
