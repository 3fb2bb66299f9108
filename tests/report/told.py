"""Material for reports: trials that were really played, and what their diagnosis would say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from tests.diagnose.failed_trials import LIFT, SHIFTED, trials, world
from tests.plan.reports import pair, report
from trueup.diagnose import Rate
from trueup.diagnose.failures import analysed
from trueup.episodes import Episode
from trueup.identify import Estimate, Finding, Misfit
from trueup.plan import planned
from trueup.report import Control, Difference, Material, Recorded, overlaid
from trueup.space import JointNormal

DELAY, MASS, DAMPING = "latency/action_delay", "object/cube/mass", "actuation/elbow_flex/damping"


@cache
def episodes() -> tuple[Episode, ...]:
    """Trials of the scripted grasp with a camera that was bumped; some fail."""
    return tuple(trial.episode for trial in trials(SHIFTED, 4, task=LIFT))


@cache
def estimate() -> Estimate:
    """A delay that is pinned, a mass that is known in part, a damping that is not told."""
    catalogue = world().catalogue
    names = (DELAY, MASS, DAMPING)
    scales = [catalogue[name].scale for name in names]
    values, lefts, spreads = np.array([0.06, 0.05, 1.0]), (0.05, 0.5, 0.95), (0.002, 0.2, 0.4)
    means = [np.log(v) if s == "log" else v for v, s in zip(values, scales, strict=True)]
    findings = []
    for name, scale, mean, spread, left in zip(names, scales, means, spreads, lefts, strict=True):
        ends = np.array([mean - 1.645 * spread, mean, mean + 1.645 * spread])
        low, value, high = np.exp(ends) if scale == "log" else ends
        p = catalogue[name]
        findings.append(
            Finding(
                name=name,
                unit=p.unit,
                value=float(value),
                low=float(low),
                high=float(high),
                before=p.nominal,
                left=left,
            )
        )
    return Estimate(
        world=LIFT,
        belief=JointNormal(names, np.array(means), np.diag(np.square(spreads))),
        findings=tuple(findings),
        unseen=("Damping and friction of the elbow cannot be told apart.",),
        fitted=Misfit(episodes=2, before={"joint_position/elbow_flex": 0.03}, after={}),
        held=Misfit(episodes=1, before={"joint_position/elbow_flex": 0.03}, after={}),
        noise={},
    )


def controls() -> tuple[Control, ...]:
    return (
        Control(
            name="nominal",
            what="more training in the nominal world",
            rate=Rate(successes=21, trials=50),
            steps=1000,
            behind=Difference(points=52.0, low=38.0, high=64.0),
        ),
        Control(
            name="uniform",
            what="wide uniform randomization",
            rate=Rate(successes=35, trials=50),
            steps=1000,
            behind=Difference(points=24.0, low=11.0, high=37.0),
        ),
    )


SPREAD = {"mean": 0.002, "std": 0.0, "median": 0.002, "p95": 0.003, "p99": 0.004, "worst": 0.009}
BUDGET = {
    "period_s": 0.04,
    "turns": 400,
    "period": SPREAD,
    "late": SPREAD,
    "misses": 0.01,
    "observe": SPREAD,
    "infer": SPREAD,
    "act": SPREAD,
    "settle": {"delay_s": 0.05, "std_s": 0.002, "misfit_rad": 0.001, "episodes": 4},
    "total_s": 0.056,
}


@cache
def material() -> Material:
    """All that a report can tell of but films, which need graphics."""
    found = analysed(world(), episodes()).to_json()
    before = report(
        latency=31, contact=12, visual=-4, interactions=(pair("contact", "latency", 8),)
    )
    return Material(
        before=replace(before, failures=found, notes=("Twenty more trials would tell more.",)),
        look=report(latency=20, contact=20, half=15),
        after=report(latency=1, measured=(47, 50)),
        recorded=Recorded(episodes=3, seconds=62.0, motions={"chirp": 2, "still": 1}),
        estimates=(estimate(),),
        overlays=overlaid(world(), episodes()[0], estimate().point, threads=1),
        failures_after=found,
        latency=BUDGET,
        protocol=planned(before, world=world()),
        controls=controls(),
        steps=1000,
        stopped="No more is done: the target of 90 % is reached.",
        provenance={
            "seed": 3,
            "policy_sha256": 32 * "0f",
            "commands": ["trueup run so101/lift --seed 3"],
        },
    )
