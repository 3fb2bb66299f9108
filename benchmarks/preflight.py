"""Preflight against planted wiring faults, and against sound robots that all differ.

Every case is a rehearsal robot in a process of its own, drawn from the whole default space of
`so101/lift`: other servos, other friction, other weights, zeros up to 0.9° off. Half of them are
miswired on top.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.faults import planted
from benchmarks.measure import Effort, Measure, Target
from trueup.deploy import Fault, Miswired, Preflight, preflight
from trueup.evaluate import trials
from trueup.hardware import open_robot
from trueup.policies import Contract, Layer, Policy, Provenance, network_bytes
from trueup.versions import versions
from trueup.worlds import World, get
from trueup.worlds.interface import interface_of

_WORLD = "so101/lift"
_SOUND = 64


def measure(effort: Effort) -> list[Measure]:
    world, faults = get(_WORLD), list(planted())
    faults, sound = (faults[::7], 8) if effort.quick else (faults, _SOUND)
    policy = untrained(world)
    points, _ = trials(world.space, len(faults) + sound, seed=7)
    caught, missed, alarms, seconds = Counter(), [], [], []
    for k, (kind, fault, truth) in enumerate(faults):
        found = _checked(world, policy, {**points[k], **_shifted(points[k], truth)}, fault)
        caught[kind] += not found.passed
        missed += [f"{kind}: {fault} {truth}"] if found.passed else []
    for k in range(sound):
        found = _checked(world, policy, points[len(faults) + k], None)
        alarms += [str(finding) for finding in found.findings]
        seconds.append(found.motion_s)
    totals = Counter(kind for kind, *_ in faults)
    return [
        Measure(
            what=f"planted wiring faults caught by preflight, of {len(faults)}",
            value=100.0 * sum(caught.values()) / len(faults),
            unit="%",
            target=Target(side="≥", value=100.0),
            note=", ".join(f"{kind} {caught[kind]}/{n}" for kind, n in totals.items())
            + " (sim-to-sim)",
            details={"missed": missed},
        ),
        Measure(
            what=f"false alarms on sound robots, of {sound}",
            value=float(len(alarms)),
            target=Target(side="≤", value=0.0),
            note="all over the default space, which has zeros up to 0.9° off (sim-to-sim)",
            details={"alarms": alarms},
        ),
        Measure.of("time of the robot that a full preflight takes", seconds, unit="s"),
    ]


def untrained(world: World) -> Policy:
    """A policy with random weights: preflight asks for its contract and its normalizer."""
    interface = interface_of(world)
    servos = len(interface.commands)
    contract = Contract(
        world=world.name,
        task="none",
        interface=interface,
        history=2,
        lead=(0.2,) * servos,
        rate=(3.0,) * servos,
        space=world.space,
    )
    generator, sizes = np.random.default_rng(0), (contract.inputs, 32, servos)
    layers = [Layer(0.1 * generator.normal(size=(b, a)), np.zeros(b)) for a, b in pairwise(sizes)]
    stored = network_bytes(mean=np.zeros(sizes[0]), scale=np.ones(sizes[0]), layers=layers)
    made = Provenance(
        created="",
        method="none",
        seed=0,
        steps=0,
        wall_s=0.0,
        configuration={},
        versions=versions(),
    )
    return Policy(stored=stored, contract=contract, provenance=made)


def _shifted(point: Mapping[str, float], truth: Mapping[str, float]) -> dict[str, float]:
    """Zeros that are off by so much more; a loop that is just so wrong."""
    return {
        name: value + (point[name] if name.endswith("zero_offset") else 0.0)
        for name, value in truth.items()
    }


def _checked(
    world: World, policy: Policy, point: Mapping[str, float], fault: Fault | None
) -> Preflight:
    reality = {"trueup_reality": 1, "story": "A case of the benchmark.", "values": dict(point)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        file.write_text(json.dumps(reality))
        with open_robot(f"rehearsal:{file}@{world.name}", threads=1) as robot:
            body = robot if fault is None else Miswired(robot, fault, world)
            return preflight(policy, body, world, move=True)
