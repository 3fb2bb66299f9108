"""From a gap report to a protocol: what to record next, how much of it, and when to stop."""

from trueup.plan.action import Action as Action
from trueup.plan.action import Kind as Kind
from trueup.plan.action import Template as Template
from trueup.plan.action import template as template
from trueup.plan.costs import Costs as Costs
from trueup.plan.covering import covering_array as covering_array
from trueup.plan.covering import uncovered as uncovered
from trueup.plan.measured import entered as entered
from trueup.plan.measured import read_measured as read_measured
from trueup.plan.outlook import Nature as Nature
from trueup.plan.outlook import Outlook as Outlook
from trueup.plan.outlook import outlook as outlook
from trueup.plan.planning import planned as planned
from trueup.plan.protocol import Item as Item
from trueup.plan.protocol import Protocol as Protocol
from trueup.plan.protocol import Recovery as Recovery
from trueup.plan.protocol import StopRule as StopRule
from trueup.plan.protocol import Work as Work
from trueup.plan.stopping import power_of as power_of
from trueup.plan.stopping import trials_to_see as trials_to_see
