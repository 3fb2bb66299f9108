"""What was found, for people: one page that needs nothing else, and the same as JSON and text."""

from trueup.report.filming import filmed as filmed
from trueup.report.filming import films_of as films_of
from trueup.report.material import Control as Control
from trueup.report.material import Difference as Difference
from trueup.report.material import Material as Material
from trueup.report.material import Recorded as Recorded
from trueup.report.material import Tried as Tried
from trueup.report.overlay import overlaid as overlaid
from trueup.report.reading import read_after as read_after
from trueup.report.reading import read_latency as read_latency
from trueup.report.report import FILES as FILES
from trueup.report.report import Report as Report
from trueup.report.reporting import SECTIONS as SECTIONS
from trueup.report.reporting import reported as reported
from trueup.report.section import Block as Block
from trueup.report.section import Section as Section
