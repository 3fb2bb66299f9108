"""What a step promises is what it gives where readings answer in proportion."""

import numpy as np
import pytest

from trueup.identify.descent import _candidates
from trueup.identify.problem import Residual


def test_a_promise_is_kept_on_a_quadratic():
    generator = np.random.default_rng(0)
    slopes, values = generator.standard_normal((400, 3)), 0.02 * generator.standard_normal(400)
    here = Residual(values=values[None], column=np.zeros(400, int), episode=np.zeros(400, int))
    u, centre, pull = np.full(3, 0.5), np.full(3, 0.6), np.array([0.1, 0.0, 1.0])

    def cost(at):
        left = values + slopes @ (at - u)
        return (left**2).mean() + (pull * (at - centre) ** 2).sum()

    tried, promised = _candidates(here, slopes, u, 1.0, centre, pull)
    gained = np.array([cost(u) - cost(at) for at in tried])
    assert promised == pytest.approx(gained, rel=0.05)  # large readings count a little less
    assert (promised > 0.0).all()
