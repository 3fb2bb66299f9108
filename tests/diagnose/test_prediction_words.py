"""A forecast in words."""

from __future__ import annotations

import pytest

from trueup.diagnose.gap_report import Rate
from trueup.diagnose.prediction import Prediction
from trueup.diagnose.prediction.words import sentences


@pytest.mark.parametrize(
    ("paired", "others", "said"),
    [
        (0, 0, "It rests on 20 trials; with"),
        (5, 0, "It rests on 20 trials, 5 of them from starts that simulation repeated; with"),
        (5, 9, "20 trials, 5 of them from starts that simulation repeated, and 9 of other pol"),
        (0, 9, "It rests on 20 trials and 9 of other policies; with"),
    ],
)
def test_what_a_forecast_rests_on(paired, others, said):
    made = Prediction(
        policy="lift",
        simulated=Rate(successes=90, trials=100),
        trials=Rate(successes=15, trials=20),
        paired=paired,
        share=0.8,
        low=0.7,
        high=0.9,
        needed=0,
        needed_alone=0,
        worth=40,
        powered=None,
    )
    assert said in sentences([made], Rate(successes=0, trials=others), 0.1)[1]
