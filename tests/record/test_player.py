"""A plan as it is played: in time, paused, and ended early by what is sensed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.record.arm import CENTRE, PERIOD_S, body, situation, world
from trueup.record import Chirp, Plan, Player
from trueup.record.motions.motion import Phase
from trueup.record.motions.rules import Slipped, Stalled
from trueup.record.motions.smooth import ramp
from trueup.worlds.kinematics import ForwardKinematics

NOTHING: dict[str, np.ndarray] = {}


def played(player: Player, pauses: range = range(0)) -> np.ndarray:
    """All commands (k, n, nu); while a turn is in `pauses`, the plan is not running."""
    rows = []
    while not player.done:
        rows.append(player(NOTHING, running=len(rows) not in pauses))
        assert len(rows) < 10_000
    return np.stack(rows)


def chirp() -> Plan:
    return Chirp(center_rad=CENTRE, duration_s=4.0).planned(situation())


def test_a_plan_is_played_as_it_stands():
    plan = chirp()
    np.testing.assert_allclose(played(Player(plan)), plan.path, atol=1e-12)


def test_a_pause_comes_gently_to_rest_and_goes_on_along_the_same_path():
    plan = chirp()
    usual = np.abs(np.diff(plan.path, n=2, axis=0)).max()
    rows = played(Player(plan), pauses=range(150, 200))
    assert len(rows) == pytest.approx(len(plan.path) + 50, abs=12)
    still = np.abs(np.diff(rows[160:195], axis=0)).max()
    assert still == 0.0
    # a stop that takes 0.3 s brakes no harder than a few times what the motion does by itself
    assert np.abs(np.diff(rows, n=2, axis=0)).max() < 6 * usual
    # every command lies on the path
    for row in rows[::7, 0]:
        assert np.abs(plan.path[:, 0] - row).max(axis=1).min() < 0.06
    np.testing.assert_allclose(rows[-1], plan.path[-1], atol=1e-3)


def closing(n: int = 1) -> Plan:
    """Close the gripper, hold, raise the arm, open."""
    poses = [np.tile(CENTRE, (n, 1)) for _ in range(5)]
    for k in (1, 2, 3):
        poses[k][:, 5] = 0.0
    for k in (3, 4):
        poses[k][:, 1] -= 0.2
    watch = Stalled(column=5, signal="q", error_rad=0.1, still_rad=0.01, window_s=0.2)
    parts, phases, first = [poses[0][None]], [], 0
    for k, (name, rule) in enumerate(
        (("close", watch), ("hold", None), ("raise", None), ("open", None))
    ):
        part = ramp(poses[k], poses[k + 1], 1.0, PERIOD_S)
        parts.append(part)
        end = first + len(part) + (k == 0)
        phases.append(Phase(name=name, first=first, end=end, until=rule))
        first = end
    path = np.concatenate(parts)
    return Plan(motion=Chirp(), period_s=PERIOD_S, path=path, phases=tuple(phases))


def test_a_finger_that_meets_something_is_told_to_go_no_further():
    """Cell 0 stops at 0.4 rad, cell 1 at nothing: a servo that follows its command but for that."""
    plan, stop = closing(2), np.array([0.4, -1.0])
    player = Player(plan)
    commands, early = [plan.path[0]], []
    while not player.done:
        q = commands[-1].copy()
        q[:, 5] = np.maximum(q[:, 5], stop)
        commands.append(player({"q": q}))
        early.append((player.phase, player.early.copy()))
    rows = np.stack(commands[1:])
    assert any(phase == "close" and e[0] for phase, e in early)
    assert not any(e[1] for _, e in early)
    held = {p.name: rows[p.first + 1 : p.end, 0, 5] for p in plan.phases}
    # it stays that far beyond the finger through the phases that do not move the gripper
    assert 0.1 < held["close"][-1] < 0.3
    assert np.ptp(held["hold"]) == np.ptp(held["raise"]) == 0.0
    assert held["hold"][0] == held["close"][-1]
    # and opens from there without a leap
    assert rows[-1, 0, 5] == pytest.approx(CENTRE[5])
    assert np.abs(np.diff(rows[:, 0, 5])).max() < 0.06
    np.testing.assert_allclose(rows[:, 1], plan.path[:, 1], atol=1e-12)
    np.testing.assert_allclose(rows[:, :, :5], plan.path[:, :, :5], atol=1e-12)


def test_a_thing_slips_when_it_moves_in_the_hand_not_with_it():
    hand = ForwardKinematics(world().model, "tcp", body().joints)
    rule = Slipped(hand=hand, signal="q", place="cube", distance_m=0.005)
    watch = rule.begun(1, PERIOD_S)
    q = np.array([body().ready])
    offset = np.array([[0.003, 0.001, 0.01]])

    def carried(q: np.ndarray) -> np.ndarray:
        """Where a thing is that keeps its place in the hand's own frame."""
        axes = [hand.into_site(q, unit[None])[0] for unit in np.eye(3)]
        return hand(q) + offset @ np.array(axes).T

    moved = q
    for turn in np.linspace(0.0, 0.5, 10):
        moved = q + turn * np.array([[0.5, 0.2, -0.3, -0.6, 0.4, 0.0]])
        assert not watch({"q": moved, "cube": carried(moved)}, q)[0]
    fallen = carried(moved) - [[0.0, 0.0, 0.006]]
    assert watch({"q": moved, "cube": fallen}, q)[0]
    assert not rule.begun(1, PERIOD_S)({"q": q}, q)[0]  # nobody sees the thing
