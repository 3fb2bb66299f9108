"""Friction, mass, size, centre of mass and grip force from contact probes, on hidden robots.

Each robot has another cube, other fingertips and another gripper, drawn from the middle of what the
catalogue allows, and is seen through encoders, currents and a tracker with noise of their own. All
five probes are recorded twice; the second of each judges. The arm is as modelled. Sim-to-sim.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.hidden_robots import NOISE_RAD, PERIOD_S, QUANTUM_RAD
from benchmarks.measure import Effort, Measure
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.hardware import Robot, open_robot
from trueup.identify import Estimate
from trueup.identify.probing import identify_contact
from trueup.record import Drag, Drop, Probe, Push, Squeeze, Tilt, record
from trueup.worlds import World, get

WORLD = "so101/lift"
_PLACES = 6
PROBES = (Squeeze(press_rad=0.3), Push(), Drag(), Tilt(), Drop())
_SEEN = {
    "sensing/encoder/quantum": QUANTUM_RAD,
    "sensing/encoder/noise": NOISE_RAD,
    "sensing/current/noise": 0.03,
    "visual/tracker/noise": 0.001,
    "visual/tracker/angle_noise": 0.01,
}
_HIDDEN: Mapping[str, tuple[float, float]] = {
    "contact/object-table/sliding": (0.3, 0.8),
    "contact/fingertip-object/sliding": (0.6, 1.2),
    "object/cube/mass": (0.02, 0.1),
    "object/cube/com_x": (-0.003, 0.003),
    "object/cube/com_y": (-0.003, 0.003),
    "object/cube/com_z": (-0.003, 0.003),
    "object/cube/size_x": (0.02, 0.032),
    "object/cube/size_y": (0.02, 0.032),
    "object/cube/size_z": (0.02, 0.032),
    "actuation/gripper/force_limit": (1.0, 2.0),
    "sensing/current/gain": (0.7, 1.4),
}


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    truths, found = [], []
    for number in range(2 if effort.quick else 10):
        truths.append(_truth(number))
        found.append(identify_contact(world, _probed(world, number, truths[-1])))
    lines = [_errors(name, truths, found) for name in _HIDDEN if name != "sensing/current/gain"]
    covered = [
        finding.low <= truth[finding.name] <= finding.high
        for truth, estimate in zip(truths, found, strict=True)
        for finding in estimate.findings
    ]
    note = f"{len(covered)} intervals, sim-to-sim"
    return [
        *lines,
        Measure(
            what="contact: 90 % intervals cover",
            value=100.0 * float(np.mean(covered)),
            unit="%",
            note=note,
        ),
        Measure.of("contact: wall time a robot", [e.made["seconds"] for e in found], unit="s"),
    ]


def _errors(name: str, truths: list[dict[str, float]], found: list[Estimate]) -> Measure:
    """How far off one parameter is: in per cent, or in millimetres from the middle."""
    place = "/com_" in name
    errors, told = [], 0
    for truth, estimate in zip(truths, found, strict=True):
        finding = next(f for f in estimate.findings if f.name == name)
        off = abs(finding.value - truth[name])
        errors.append(1e3 * off if place else 100.0 * off / truth[name])
        told += finding.verdict == "pinned"
    unit = "mm" if place else "%"
    note = f"pinned in {told} of {len(found)}, sim-to-sim"
    return Measure.of(f"contact: error of {name}", errors, unit=unit, note=note)


def _truth(number: int) -> dict[str, float]:
    generator = np.random.default_rng([570_000, number])
    return {name: float(generator.uniform(*span)) for name, span in _HIDDEN.items()}


def _probed(world: World, number: int, truth: Mapping[str, float]) -> list[Episode]:
    """Each probe twice, as two bodies of one robot do it at once."""
    reality = {"trueup_reality": 1, "world": WORLD, "values": {**truth, **_SEEN}}
    found: list[Episode] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reality.json"
        file.write_text(json.dumps({**reality, "story": f"Robot {number}."}), encoding="utf-8")
        with open_robot(f"rehearsal:{file}", cells=2, period_s=PERIOD_S) as robot:
            for probe in PROBES:
                found += _reached(robot, probe, world, number)
    return found


def _reached(robot: Robot, probe: Probe, world: World, number: int) -> tuple[Episode, ...]:
    """A probe of things that stand where the hand can reach them: else they are put elsewhere."""
    last = TrueupError("There is nowhere to put it.")
    for place in range(_PLACES):
        seeds = np.array([2 * number, 2 * number + 1], np.uint64) + np.uint64(1000 * place)
        try:
            return record(robot, probe, world=world, seeds=seeds).episodes
        except TrueupError as error:
            last = error
    raise last
