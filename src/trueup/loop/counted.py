"""Gap reports of policies whose trials were only counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.diagnose import UNEXPLAINED, GapReport, Rate, Share
from trueup.evaluate import Evaluation


def counted(
    simulated: Evaluation, found: Mapping[str, Any], *, policy: str, note: str
) -> GapReport:
    """What was lost between simulated episodes and trials; nobody has split it.

    Args:
        simulated: What simulation promises.
        found: The trials' result.json.
        policy: Whose they are.
        note: Why it was not split; where nothing was lost there is nothing to split.
    """
    promised = Rate(successes=simulated.successes, trials=len(simulated))
    measured = Rate(successes=int(found["success"]), trials=int(found["trials"]))
    loss = 100.0 * (promised.share - measured.share)
    return GapReport(
        world=found["world"],
        policy=policy,
        real=found["label"] == "real",
        evidence=("trials",),
        simulated=promised,
        measured=measured,
        shares=(),
        unexplained=Share(gap=UNEXPLAINED, points=loss, low=loss, high=loss),
        sentences=(f"Simulation promises {promised}; on the robot it is {measured}.",),
        notes=(note,) if loss > 0.0 else (),
    )
