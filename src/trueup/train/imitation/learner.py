"""The network, and one step of learning after the other."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from trueup.errors import TrueupError
from trueup.policies import Contract, Layer, Policy, network_bytes, network_layers
from trueup.train.imitation.lessons import Batch, Lessons
from trueup.train.imitation.settings import Cloning

_WARM = 0.05  # share of the steps over which the learning rate rises
_DECAY = 1e-4  # of the weights
_LOOK = 8192  # frames that are looked at together
_SALT = 8807  # keeps what is drawn apart from other uses of the seed


class Learner:
    """Learns answers from lessons, by the mean absolute error.

    Args:
        lessons: What is learned from.
        contract: What the policy sees and answers.
        settings: How.
        start: A policy to begin from; its network keeps its shape and its normalizer.
    """

    def __init__(
        self, lessons: Lessons, contract: Contract, settings: Cloning, start: Policy | None = None
    ) -> None:
        torch.manual_seed(settings.seed)
        self.lessons, self.settings, self.step = lessons, settings, 0
        self._generator = np.random.default_rng([settings.seed, _SALT])
        if start is None:
            self._mean, self._scale = lessons.scale()
            self.network = _layered([contract.inputs, *settings.hidden, contract.outputs])
        else:
            self._mean, self._scale, layers = network_layers(start.stored)
            self.network = _filled(layers)
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=_DECAY
        )

    def learn(self, steps: int) -> float:
        """Take some steps; the mean error over them."""
        total = 0.0
        for _ in range(steps):
            self._optimizer.param_groups[0]["lr"] = self._rate()
            batch = self.lessons.drawn(self._generator, self.settings.batch)
            loss = self._error(batch)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            self.step += 1
            total += float(loss.detach())
        if not np.isfinite(total):
            raise TrueupError(
                f"Learning broke down at step {self.step}: the error is no number any more.",
                fix="Use a smaller learning rate.",
            )
        return total / steps

    def error(self, lessons: Lessons) -> float:
        """Mean absolute error of answers, each frame counting as often as it would be drawn."""
        total = counted = 0.0
        with torch.inference_mode():
            for rows in np.array_split(np.arange(len(lessons)), -(-len(lessons) // _LOOK)):
                batch = lessons.batch(rows)
                off = (self._answers(batch) - torch.from_numpy(batch.answers)).abs().mean(2)
                share = lessons.share[rows, None] * batch.counts
                total += float((off.numpy() * share).sum())
                counted += float(share.sum())
        return total / counted if counted else float("nan")

    def stored(self) -> bytes:
        """The network as a policy's file."""
        layers = [
            Layer(layer.weight.detach().numpy(), layer.bias.detach().numpy())
            for layer in self.network
            if isinstance(layer, nn.Linear)
        ]
        return network_bytes(mean=self._mean, scale=self._scale, layers=layers)

    def state(self) -> dict[str, Any]:
        """All that changes, to go on from."""
        return {
            "step": self.step,
            "network": {k: v.clone() for k, v in self.network.state_dict().items()},
            "optimizer": self._optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken: the same frames are drawn as without the pause."""
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        self._generator = np.random.default_rng([self.settings.seed, _SALT])
        for _ in range(self.step):
            self._generator.random(self.settings.batch)

    def _rate(self) -> float:
        share = self.step / self.settings.steps
        rise = min(1.0, (share + 1.0 / self.settings.steps) / _WARM)
        return (
            self.settings.learning_rate * rise * 0.5 * (1.0 + math.cos(math.pi * min(1.0, share)))
        )

    def _error(self, batch: Batch) -> torch.Tensor:
        counts = torch.from_numpy(batch.counts)
        off = (self._answers(batch) - torch.from_numpy(batch.answers)).abs().mean(2)
        return (off * counts).sum() / counts.sum().clamp(min=1)

    def _answers(self, batch: Batch) -> torch.Tensor:
        inputs = torch.from_numpy((batch.inputs - self._mean) / self._scale)
        return self.network(inputs).reshape(batch.answers.shape)


def _layered(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, (inputs, outputs) in enumerate(pairwise(widths)):
        layers += [nn.ELU()] if i else []
        layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


def _filled(layers: list[Layer]) -> nn.Sequential:
    """A network that answers as another one does."""
    widths = [layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in layers)]
    network = _layered(widths)
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    with torch.no_grad():
        for mine, theirs in zip(linear, layers, strict=True):
            mine.weight.copy_(torch.from_numpy(theirs.weight.copy()))
            mine.bias.copy_(torch.from_numpy(theirs.bias.copy()))
    return network
