"""What sections show: words, tables whose rows are drawn, curves over time, short films."""

from trueup.report.blocks.film import Film as Film
from trueup.report.blocks.marks import Kind as Kind
from trueup.report.blocks.marks import Mark as Mark
from trueup.report.blocks.marks import Scale as Scale
from trueup.report.blocks.marks import Tone as Tone
from trueup.report.blocks.prose import Commands as Commands
from trueup.report.blocks.prose import Listing as Listing
from trueup.report.blocks.prose import Prose as Prose
from trueup.report.blocks.table import Row as Row
from trueup.report.blocks.table import Table as Table
from trueup.report.blocks.traces import Curve as Curve
from trueup.report.blocks.traces import Trace as Trace
from trueup.report.blocks.traces import Traces as Traces
