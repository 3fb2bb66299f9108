"""From what was found to a report: every section, in the order in which people ask."""

from __future__ import annotations

from trueup.report.material import Material
from trueup.report.report import Report
from trueup.report.sections import (
    answer_section,
    controls_section,
    failures_section,
    gaps_section,
    joints_section,
    latency_section,
    parameters_section,
    plan_section,
    provenance_section,
    recorded_section,
)

SECTIONS = (
    answer_section,
    gaps_section,
    recorded_section,
    parameters_section,
    joints_section,
    failures_section,
    latency_section,
    plan_section,
    controls_section,
    provenance_section,
)


def reported(material: Material) -> Report:
    """The report on all that there is; a section whose material is absent says so."""
    return Report(
        title=material.title or f"{material.before.world}: from simulation to the robot",
        sections=tuple(made(material) for made in SECTIONS),
        rehearsal=not material.before.real,
    )
