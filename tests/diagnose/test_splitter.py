"""The network that splits a loss up: the same however many threads torch may have."""

import numpy as np
import pytest
import torch

from trueup.diagnose import splitter
from trueup.diagnose.planted import GAPS


def learned(threads: int) -> np.ndarray:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((40, 12)), generator.dirichlet(np.ones(len(GAPS)), 40)
    try:
        net = splitter.fitted(x, y, np.ones(40), seed=3)
        assert torch.get_num_threads() == threads
        return splitter.read(net, x)
    finally:
        torch.set_num_threads(before)


def test_it_is_the_same_at_any_number_of_threads():
    assert (learned(1) == learned(2)).all()


def test_it_learns_on_one_thread_alone(monkeypatch: pytest.MonkeyPatch):
    seen: set[int] = set()
    forward = splitter.Splitter.forward

    def watched(self: splitter.Splitter, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            seen.add(torch.get_num_threads())
        return forward(self, x)

    monkeypatch.setattr(splitter.Splitter, "forward", watched)
    learned(2)
    assert seen == {1}
