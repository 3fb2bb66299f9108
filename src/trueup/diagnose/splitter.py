"""The network that splits a loss up. It alone needs torch, which takes seconds to come."""

from __future__ import annotations

import numpy as np
import torch

from trueup.diagnose.planted import GAPS
from trueup.one_thread import one_thread

_EPOCHS, _BATCH, _HIDDEN = 70, 128, 128


class Splitter(torch.nn.Module):
    """Splits a loss up by marks.

    Args:
        marks: How many.
    """

    def __init__(self, marks: int) -> None:
        super().__init__()
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

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def fitted(x: np.ndarray, y: np.ndarray, weight: np.ndarray, *, seed: int) -> torch.nn.Module:
    """A small network that splits the loss up like y."""
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(seed)
        net = Splitter(x.shape[1])
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
