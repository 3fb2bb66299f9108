"""The rows of the table, by the name they are chosen with."""

from __future__ import annotations

import importlib

from benchmarks.measure import Effort, Measure

ROWS = {
    "bare": "benchmarks.against_bare",
    "peer": "benchmarks.against_peer",
    "points": "benchmarks.new_points",
    "memory": "benchmarks.memory",
    "render": "benchmarks.rendering",
    "startup": "benchmarks.startup",
    "threads": "benchmarks.threads",
    "overhead": "benchmarks.overhead",
    "nominal": "benchmarks.nominal",
    "training-overhead": "benchmarks.training_overhead",
    "training-peer": "benchmarks.training_peer",
    "evaluate-10k": "benchmarks.evaluate_10k",
    "replay": "benchmarks.replaying",
    "second-opinion": "benchmarks.second_opinion",
    "rehearsal": "benchmarks.rehearsal",
    "episode-writing": "benchmarks.episodes_write",
    "episode-kills": "benchmarks.episodes_kills",
    "bus": "benchmarks.bus",
    "latency-budget": "benchmarks.latency_budget",
    "preflight": "benchmarks.preflight",
    "failure-events": "benchmarks.failure_events",
    "identify-peer": "benchmarks.identify_peer",
    "identify-gradients": "benchmarks.identify_gradients",
    "imu-noise": "benchmarks.imu_noise",
    "generate": "benchmarks.generate_demonstrations",
    "generate-large": "benchmarks.generate_large",
    "clone": "benchmarks.clone",
    "clone-heads": "benchmarks.clone_heads",
    "cotrain": "benchmarks.cotrain",
    "training": "benchmarks.training",
    "curriculum": "benchmarks.curriculum",
    "identify-real": "benchmarks.identify_real",
    "identify-rehearsal": "benchmarks.identify_rehearsal",
    "identify-design": "benchmarks.identify_design",
    "identify-residual": "benchmarks.identify_residual",
    "identify-payload": "benchmarks.identify_payload",
    "identify-contact": "benchmarks.identify_contact",
    "curate": "benchmarks.curate_faults",
    "curate-policy": "benchmarks.curate_trained",
    "identify-nested": "benchmarks.identify_nested",
    "identify-starts": "benchmarks.identify_starts",
    "predict-success": "benchmarks.predict_success",
    "diagnose": "benchmarks.diagnose_gaps",
    "diagnose-recorded": "benchmarks.diagnose_recorded",
    "diagnose-again": "benchmarks.diagnose_again",
    "loop": "benchmarks.loop_closed",
    "diagnose-loop": "benchmarks.diagnose_looped",
    "loop-kills": "benchmarks.loop_kills",
    "plan": "benchmarks.plan_followed",
    "report-page": "benchmarks.report_page",
}

LONG = frozenset(
    {
        "bus",
        "preflight",
        "generate-large",
        "curate-policy",
        "training",
        "curriculum",
        "identify-rehearsal",
        "identify-design",
        "identify-residual",
        "identify-payload",
        "identify-contact",
        "predict-success",
        "diagnose",
        "diagnose-recorded",
        "diagnose-again",
        "loop",
        "diagnose-loop",
        "loop-kills",
        "plan",
    }
)
"""Rows that take longer than all others together: they are measured only when they are named."""


def measured(row: str, effort: Effort) -> list[Measure]:
    """What the module of a row found; it is imported only now, as peers are optional."""
    return importlib.import_module(ROWS[row]).measure(effort)
