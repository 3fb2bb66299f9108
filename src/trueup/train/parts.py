"""Data that are learned from at once, and steps down the slopes that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from trueup.train.torch_ways import another_thread


@dataclass(frozen=True, kw_only=True)
class Part:
    """Data that are learned from at once, one row for each control step."""

    actor_view: torch.Tensor
    critic_view: torch.Tensor
    actions: torch.Tensor
    actions_log_prob: torch.Tensor
    mean: torch.Tensor
    deviation: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    def halves(self) -> tuple[Part, Part]:
        """Two of (nearly) the same size."""
        middle = len(self.actions) // 2
        return self.rows(slice(middle)), self.rows(slice(middle, None))

    def rows(self, rows: slice | torch.Tensor) -> Part:
        """Some of them, in this order."""
        return Part(**{name: values[rows] for name, values in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class Slope:
    """What half of a part adds to the whole.

    Attributes:
        kl: How far the actor has moved since the data were made.
        losses: (2,) surrogate and entropy.
        slopes: Of each weight.
    """

    kl: float
    losses: torch.Tensor
    slopes: Sequence[torch.Tensor]


Both = Callable[[Callable[[Part], Slope], tuple[Part, Part]], tuple[Slope, Slope]]


@contextmanager
def in_halves(threads: int) -> Iterator[Both]:
    """Do one thing with two halves, at the same time where there may be two threads."""
    if threads == 1:
        yield lambda what, halves: (what(halves[0]), what(halves[1]))
        return
    with another_thread("actor") as other:

        def both(what: Callable[[Part], Slope], halves: tuple[Part, Part]) -> tuple[Slope, Slope]:
            second = other.submit(what, halves[1])
            return what(halves[0]), second.result()

        yield both


def descend(
    optimizer: torch.optim.Adam, slopes: Sequence[torch.Tensor], rate: float, most: float
) -> None:
    """One step down the slopes, none longer than `most` in all."""
    (group,) = optimizer.param_groups
    group["lr"] = rate
    for weight, slope in zip(group["params"], slopes, strict=True):
        weight.grad = slope
    nn.utils.clip_grad_norm_(group["params"], most)
    optimizer.step()
