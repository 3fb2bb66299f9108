"""The network that splits a loss up. It alone needs torch, which takes seconds to come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from trueup.diagnose.planted import GAPS

_EPOCHS, _BATCH, _HIDDEN = 70, 128, 128


class Splitter(torch.nn.Module):
    """Splits a loss up by marks; what recordings tell of a gap counts for and against it directly.

    Args:
        marks: How many.
        known: The gaps that recordings tell of.
    """

    def __init__(self, marks: int, known: Sequence[int]) -> None:
        super().__init__()
        self.marks = marks
        self.body = torch.nn.Sequential(
            torch.nn.Dropout(0.2),
            torch.nn.Linear(marks, _HIDDEN),
            torch.nn.SiLU(),
            torch.nn.Dropout(0.3),
            torch.nn.Linear(_HIDDEN, _HIDDEN),
            torch.nn.SiLU(),
            torch.nn.Dropout(0.3),
            torch.nn.Linear(_HIDDEN, len(GAPS)),
        )
        weight = torch.zeros(len(GAPS), 2 * len(known))
        for k, gap in enumerate(known):
            weight[gap, k] = 3.0
        self.told = torch.nn.Parameter(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        told = x[:, self.marks :]
        small = torch.exp(-told.clamp(min=0.0) / 0.1)  # as good as nothing
        return self.body(x[:, : self.marks]) + torch.cat([told, small], dim=1) @ self.told.T


def fitted(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, known: Sequence[int], *, seed: int
) -> torch.nn.Module:
    """A small network that splits the loss up like y."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = Splitter(x.shape[1] - len(known), known)
        xt, yt, wt = (torch.tensor(a, dtype=torch.float32) for a in (x, y, weight))
        _learn(net, xt, yt, wt)
    return net.eval()


def _learn(net: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> None:
    turns = -(-len(x) // _BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=1e-2)
    pace = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=_EPOCHS * turns)
    for _ in range(_EPOCHS):
        for rows in torch.randperm(len(x)).split(_BATCH):
            logits = torch.log_softmax(net(x[rows]), dim=1)
            loss = -(weight[rows, None] * y[rows] * logits).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pace.step()


def read(net: torch.nn.Module, x: np.ndarray) -> np.ndarray:
    """(n, 8) how each row splits up."""
    with torch.no_grad():
        return torch.softmax(net(torch.tensor(x, dtype=torch.float32)), dim=1).numpy()
