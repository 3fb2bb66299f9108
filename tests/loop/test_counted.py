"""What is said of trials that were only counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evaluate.planted import planted
from trueup.loop.counted import counted


@pytest.mark.parametrize(("won", "said"), [(10, ()), (4, ("Nobody looked.",))])
def test_where_nothing_was_lost_nothing_is_missed(won, said):
    simulated = planted(lambda _: np.ones(10), 10)
    found = {"success": won, "trials": 10, "world": simulated.world, "label": "sim-to-sim"}
    report = counted(simulated, found, policy="p", note="Nobody looked.")
    assert report.loss == pytest.approx(10.0 * (10 - won))
    assert report.notes == said
