"""The latency budget: planted delays are found, and written into a space as they are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.deploy.robots import reality, still, world
from trueup.deploy import Budget, Flight, Settle, Spread, budget, fly, guard_for, settle
from trueup.deploy.tape import Turns
from trueup.errors import TrueupError
from trueup.hardware import Guard, Limits, open_robot
from trueup.simulate import CpuWorlds
from trueup.space import Fixed, Point
from trueup.worlds import Compiled

CELLS = 3


def flown(address: str, *, turns: int = 45):
    """Flights of targets that jump about, each body's its own."""
    with open_robot(address, cells=CELLS, threads=1) as robot:
        robot.enable()
        robot.reset(np.arange(CELLS))
        home, generator = robot.hold, np.random.default_rng(0)
        jumps = home + generator.uniform(-0.15, 0.15, (turns // 5, *home.shape))
        flight = Flight.of(robot)
        guard = Guard(Limits.of(robot.interface, speed=20.0), robot.interface)
        guard.begin(home, robot.clock.now_s())
        fly(
            robot,
            lambda seen: jumps[min(len(flight.tape) // 5, len(jumps) - 1)],
            guard,
            flight,
            turns=turns,
        )
        episodes = [
            flight.tape.episode(row, turns, task="", outcome=None, labels={}, origin={})
            for row in range(CELLS)
        ]
        return flight.tape.turns, [e for e in episodes if e is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "total_s"),
    [
        ({}, 0.0),
        ({"latency__action_delay": 0.023}, 0.023),
        ({"latency__action_delay": 0.04, "latency__encoder_delay": 0.01}, 0.05),
        (
            {
                "latency__action_delay": 0.06,
                "actuation__elbow_flex__kp": 15.5,
                "actuation__shoulder_lift__damping": 1.4,
                "actuation__wrist_roll__frictionloss": 0.28,
                "sensing__encoder__noise": 0.001,
            },
            0.06,
        ),
    ],
)
def test_a_planted_delay_is_found_within_two_milliseconds(tmp_path, planted, total_s):
    turns, episodes = flown(reality(tmp_path, **planted))
    found = budget([turns], episodes, world())
    assert found.settle is not None
    assert found.settle.delay_s == pytest.approx(total_s, abs=0.002)
    assert found.settle.std_s < 0.002
    assert found.observe.worst == found.act.worst == 0.0  # a simulated clock stands still there
    assert found.misses == 0.0


def test_where_nothing_was_recorded_nothing_is_found():
    assert settle([], world()) is None
    with pytest.raises(TrueupError, match="No turn"):
        budget([], [], world())


def spread(mean: float, std: float = 0.0) -> Spread:
    return Spread(mean=mean, std=std, median=mean, p95=mean, p99=mean, worst=mean)


def made(**changes) -> Budget:
    parts = dict(
        period_s=0.04,
        turns=100,
        period=spread(0.042),
        late=spread(0.0),
        misses=0.0,
        observe=spread(0.006, 0.003),
        infer=spread(0.002),
        act=spread(0.001, 0.004),
        settle=Settle(delay_s=0.02, std_s=0.001, misfit_rad=0.001, episodes=4),
    )
    return Budget(**{**parts, **changes})


def test_the_parameters_have_the_mean_and_the_spread_that_were_measured():
    found = made()
    assert found.total_s == pytest.approx(0.029)
    point = found.point()
    jitter = point["latency/action_jitter"]
    assert jitter == pytest.approx(0.005)
    assert point["latency/control_period_error"] == pytest.approx(0.05)
    # what the effect draws: delay + jitter × |N| / std(|N|), at most three of N
    draws = np.minimum(np.abs(np.random.default_rng(0).standard_normal(200_000)), 3.0) / 0.6028
    drawn = point["latency/action_delay"] + jitter * draws
    assert drawn.mean() == pytest.approx(found.total_s, abs=1e-4)
    assert drawn.std() == pytest.approx(jitter, rel=0.03)


def test_it_is_written_into_a_space_as_it_is(tmp_path):
    found = made()
    space = found.space(world().space)
    assert space.names == world().space.names
    assert space["latency/action_jitter"].belief == Fixed(found.point()["latency/action_jitter"])
    drawn = space.sample(np.random.default_rng(0), 500).column("latency/action_delay")
    assert drawn.mean() == pytest.approx(found.point()["latency/action_delay"], abs=2e-4)
    assert drawn.std() == pytest.approx(0.001, rel=0.2)
    found.save_point(tmp_path / "latency.json")
    point = Point.load(tmp_path / "latency.json")
    worlds = CpuWorlds(Compiled(world(), world().space), 1)
    worlds.reset(point, 0)  # it is a point of the world as it stands


def test_a_budget_without_motion_is_not_a_space():
    with pytest.raises(TrueupError, match="none did"):
        made(settle=None).space(world().space)


def test_spreads_tell_the_tail():
    seconds = np.full(1000, 0.001)
    seconds[-5:] = 0.05
    found = Spread.of(seconds)
    assert (found.median, found.p95, found.p99) == (0.001, 0.001, 0.001)
    assert found.worst == 0.05


def test_late_turns_are_counted():
    late = np.array([0.0, 0.006, 0.001, 0.02])
    turns = Turns(
        period_s=0.02,
        began_s=0.02 * np.arange(4) + late,
        late_s=late,
        observe_s=late,
        infer_s=late,
        act_s=late,
    )
    assert budget([turns], [], world()).misses == 0.5


def test_a_guard_leaves_a_policy_room_for_its_own_speed(tmp_path):
    policy = still()
    with open_robot(reality(tmp_path), threads=1) as robot:
        guard = guard_for(policy, robot, world())
    assert min(guard.limits.speed) > max(policy.contract.rate)
