"""The ten questions of a report, one module each, in the order in which they are asked."""

from trueup.report.sections.answer import answer_section as answer_section
from trueup.report.sections.controls import controls_section as controls_section
from trueup.report.sections.failures import failures_section as failures_section
from trueup.report.sections.gaps import gaps_section as gaps_section
from trueup.report.sections.joints import joints_section as joints_section
from trueup.report.sections.latency import latency_section as latency_section
from trueup.report.sections.parameters import parameters_section as parameters_section
from trueup.report.sections.plan import plan_section as plan_section
from trueup.report.sections.provenance import provenance_section as provenance_section
from trueup.report.sections.recorded import recorded_section as recorded_section
