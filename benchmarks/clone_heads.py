"""Four kinds of network cloned from the same demonstrations, and how often each succeeds.

They differ in how a chunk of answers comes from what is seen; frames, steps, batches, learning
rate and the mean of overlapping chunks are the same. Nothing but the first can be stored as a
policy: the others are here so that the choice can be measured again.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from time import process_time

import numpy as np
import torch
from torch import nn

from benchmarks.clone import DEMONSTRATIONS, demonstrations
from benchmarks.measure import Effort, Measure
from trueup.evaluate import evaluate, piloted, trials
from trueup.one_thread import one_thread
from trueup.policies import Contract, Policy, Provenance
from trueup.space import Space
from trueup.train.imitation import Cloning, Portion
from trueup.train.imitation.cloning import prepared
from trueup.train.imitation.lessons import Batch, Lessons
from trueup.worlds import World, get

_EPISODES, _STEPS, _TEST = 1000, 4000, 51_515
_WIDE, _CODE, _KL = 256, 8, 0.1
_FLOWS = 8  # Euler steps from noise to an answer


class Head(nn.Module):
    """From what is seen (b, inputs) to answers (b, length * servos)."""

    def __init__(self, inputs: int, outputs: int, length: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.length = inputs, outputs, length

    @abstractmethod
    def loss(self, seen: torch.Tensor, answers: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """What is made small; `counts` (b, length * servos) is 1 where an answer is known."""

    @abstractmethod
    def answer(self, seen: torch.Tensor) -> torch.Tensor:
        """What is answered."""


class Plain(Head):
    """A plain network, as `clone` trains it."""

    def __init__(self, inputs: int, outputs: int, length: int) -> None:
        super().__init__(inputs, outputs, length)
        self.body = _body(inputs, outputs)

    def loss(self, seen: torch.Tensor, answers: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return _mean((self.answer(seen) - answers).abs(), counts)

    def answer(self, seen: torch.Tensor) -> torch.Tensor:
        return self.body(seen)


class Attention(Plain):
    """A transformer: observations and the steps to come as tokens (after Zhao et al. 2023)."""

    def __init__(self, inputs: int, outputs: int, length: int, *, history: int = 2) -> None:
        super().__init__(inputs, outputs, length)
        self.history, size = history, 64
        self.seen = nn.Linear(inputs // history, size)
        self.place = nn.Parameter(0.02 * torch.randn(history + length, size))
        layer = nn.TransformerEncoderLayer(size, 4, 2 * size, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(size, outputs // length)

    def answer(self, seen: torch.Tensor) -> torch.Tensor:
        frames = self.seen(seen.reshape(len(seen), self.history, -1))
        steps = torch.zeros(len(seen), self.length, frames.shape[2])
        tokens = torch.cat([frames, steps], dim=1) + self.place
        return self.last(self.body(tokens)[:, self.history :]).reshape(len(seen), -1)


class Code(Head):
    """A variational code for the way that was taken; played with the likeliest (Zhao et al.)."""

    def __init__(self, inputs: int, outputs: int, length: int) -> None:
        super().__init__(inputs, outputs, length)
        self.encoder = _body(inputs + outputs, 2 * _CODE)
        self.decoder = _body(inputs + _CODE, outputs)

    def loss(self, seen: torch.Tensor, answers: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        mean, log_variance = self.encoder(torch.cat([seen, answers * counts], 1)).chunk(2, dim=1)
        code = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        off = (self.decoder(torch.cat([seen, code], 1)) - answers).abs()
        kl = 0.5 * (mean**2 + log_variance.exp() - 1.0 - log_variance).sum(1).mean()
        return _mean(off, counts) + _KL * kl

    def answer(self, seen: torch.Tensor) -> torch.Tensor:
        return self.decoder(torch.cat([seen, torch.zeros(len(seen), _CODE)], 1))


class Flow(Head):
    """Flow matching: from noise along a straight way to an answer (after Lipman et al. 2023)."""

    def __init__(self, inputs: int, outputs: int, length: int) -> None:
        super().__init__(inputs, outputs, length)
        self.body = _body(inputs + outputs + 1, outputs)

    def loss(self, seen: torch.Tensor, answers: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        noise, t = torch.randn_like(answers), torch.rand(len(seen), 1)
        at = (1.0 - t) * noise + t * answers
        return _mean((self.body(torch.cat([seen, at, t], 1)) - (answers - noise)) ** 2, counts)

    def answer(self, seen: torch.Tensor) -> torch.Tensor:
        at = torch.randn(len(seen), self.outputs)
        for k in range(_FLOWS):
            t = torch.full((len(seen), 1), k / _FLOWS)
            at = at + self.body(torch.cat([seen, at, t], 1)) / _FLOWS
        return at


HEADS = {
    "a plain network": Plain,
    "a transformer": Attention,
    "a variational code": Code,
    "flow matching": Flow,
}


def measure(effort: Effort) -> list[Measure]:
    world = get("so101/lift")
    count = 200 if effort.quick else DEMONSTRATIONS
    dataset = demonstrations(world, effort.out / "clone", count, "expert")
    settings = Cloning(steps=_STEPS // 10 if effort.quick else _STEPS)
    portion = Portion(dataset=dataset, episodes=tuple(range(count)))
    contract, found = prepared(world, [portion], settings, None)
    lessons = Lessons([found[0].stretches], [None], contract)
    measures = []
    with one_thread(), torch.random.fork_rng(devices=[]):
        for name in HEADS:
            policy, step_ms = _learned(name, lessons, contract, settings)
            note = f"{step_ms:.1f} ms of one core for a step of learning"
            measures += _measured(
                world, policy, f"{name}, {count:,} lift demonstrations", note, effort
            )
    return measures


def _measured(
    world: World, policy: Policy, name: str, note: str, effort: Effort
) -> Iterator[Measure]:
    for place, space in (("nominal", Space(())), ("randomized", world.space)):
        points, seeds = trials(space, 200 if effort.quick else _EPISODES, _TEST)
        played = evaluate(world, piloted(policy), points, seeds, batch=256)
        low, high = played.interval()
        yield Measure(
            what=f"success of {name}, {place}",
            value=100 * played.success_share,
            unit="%",
            note=f"95 % interval {100 * low:.1f} – {100 * high:.1f}; {note}; sim-to-sim",
        )


def _learned(
    name: str, lessons: Lessons, contract: Contract, settings: Cloning
) -> tuple[Policy, float]:
    """A policy with a network of this kind, and the milliseconds of a step of learning."""
    torch.manual_seed(settings.seed)
    generator = np.random.default_rng(settings.seed)
    mean, scale = lessons.scale()
    head = HEADS[name](contract.inputs, contract.outputs, settings.chunk)
    optimizer = torch.optim.AdamW(head.parameters(), lr=settings.learning_rate, weight_decay=1e-4)
    started = process_time()
    for k in range(settings.steps):
        share = k / settings.steps
        rise = min(1.0, (k + 1) / (0.05 * settings.steps))
        rate = settings.learning_rate * rise * 0.5 * (1.0 + math.cos(math.pi * share))
        optimizer.param_groups[0]["lr"] = rate
        loss = head.loss(*_tensors(lessons.drawn(generator, settings.batch), mean, scale))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    step_ms = 1000 * (process_time() - started) / settings.steps
    policy = Policy(
        stored=b"",
        contract=contract,
        provenance=Provenance(
            created="",
            method=name,
            seed=settings.seed,
            steps=0,
            wall_s=0.0,
            configuration={},
            versions={},
        ),
    )

    def network(seen: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            answer = head.answer(torch.from_numpy((seen - mean) / scale))
        return np.clip(answer.numpy(), -1.0, 1.0)

    vars(policy)["network"] = network  # in the place of the one that would be read from `stored`
    return policy, step_ms


def _tensors(batch: Batch, mean: np.ndarray, scale: np.ndarray) -> tuple[torch.Tensor, ...]:
    counts = np.repeat(batch.counts, batch.answers.shape[2], axis=1).astype(np.float32)
    answers = batch.answers.reshape(len(counts), -1)
    return (
        torch.from_numpy((batch.inputs - mean) / scale),
        torch.from_numpy(answers.astype(np.float32)),
        torch.from_numpy(counts),
    )


def _mean(values: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return (values * counts).sum() / counts.sum().clamp(min=1)


def _body(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, _WIDE),
        nn.ELU(),
        nn.Linear(_WIDE, _WIDE),
        nn.ELU(),
        nn.Linear(_WIDE, outputs),
    )
