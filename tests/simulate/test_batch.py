"""The batch contract: same seed, same result, whoever stands beside it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.worlds.pendulum import Pendulum, damping
from trueup import worlds
from trueup.effects import actuation, latency, sensing
from trueup.errors import TrueupError
from trueup.simulate import CpuWorlds, Step
from trueup.streams import seeds_from
from trueup.worlds import Compiled

N = 8


@pytest.fixture(scope="module")
def lift() -> Compiled:
    return Compiled(worlds.get("so101/lift"))


@pytest.fixture(scope="module")
def pendulum() -> Compiled:
    return Compiled(Pendulum(*latency(), *actuation(), *sensing()))


def points_and_seeds(compiled: Compiled, n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return compiled.space.sample(rng, n), seeds_from(rng, n)


def commands(n: int, steps: int, nu: int) -> np.ndarray:
    """A command for each row that does not depend on how many rows there are."""
    return np.random.default_rng(9).uniform(-0.3, 0.3, (steps, 64, nu))[:, :n]


def play(batch: CpuWorlds, actions: np.ndarray) -> list[Step]:
    return [batch.step(batch.hold + action) for action in actions]


def bits(steps: list[Step], rows: slice | int | np.ndarray = slice(None)) -> list[bytes]:
    """Everything that n worlds answered, row by row."""
    found = []
    for step in steps:
        parts = [*step.observation.values(), *step.privileged.values()]
        parts += [step.reward, step.success, step.failure, step.timeout, step.diverged]
        found += [np.atleast_1d(part[rows]).tobytes() for part in parts]
    return found


class TestSameSeed:
    def test_gives_the_same_bits_at_any_thread_count(self, lift):
        points, seeds = points_and_seeds(lift, N)
        results = []
        for threads in (1, 2):
            batch = CpuWorlds(lift, N, threads=threads)
            batch.reset(points, seeds)
            results.append(bits(play(batch, commands(N, 25, 6))))
        assert results[0] == results[1]

    def test_gives_the_same_bits_again_in_one_batch(self, lift):
        points, seeds = points_and_seeds(lift, N)
        batch = CpuWorlds(lift, N)
        results = []
        for _ in range(2):
            batch.reset(points, seeds)
            results.append(bits(play(batch, commands(N, 25, 6))))
        assert results[0] == results[1]

    def test_gives_the_same_bits_alone(self, lift):
        points, seeds = points_and_seeds(lift, N)
        together = CpuWorlds(lift, N)
        first = together.reset(points, seeds)
        steps = play(together, commands(N, 25, 6))
        for i in range(N):
            alone = CpuWorlds(lift, 1)
            seen = alone.reset(points[i], seeds[i])
            assert all(seen[key][0].tobytes() == first[key][i].tobytes() for key in first)
            assert bits(play(alone, commands(N, 25, 6)[:, i : i + 1])) == bits(
                steps, slice(i, i + 1)
            )

    def test_gives_the_same_bits_in_a_world_that_was_reset_among_others(self, lift):
        """So a failed episode of a long training run can be seen again by itself."""
        points, seeds = points_and_seeds(lift, N)
        batch = CpuWorlds(lift, N)
        batch.reset(points, seeds)
        play(batch, commands(N, 5, 6))
        fresh, fresh_seeds = points_and_seeds(lift, 2, seed=5)
        first = batch.reset(fresh, fresh_seeds, [2, 6])
        steps = play(batch, commands(N, 10, 6))
        alone = CpuWorlds(lift, 1)
        seen = alone.reset(fresh[0], fresh_seeds[0])
        for key in first:
            np.testing.assert_array_equal(seen[key][0], first[key][2], err_msg=key)
        assert bits(play(alone, commands(N, 10, 6)[:, 2:3])) == bits(steps, slice(2, 3))

    def test_different_seeds_differ(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        batch.reset(pendulum.space.nominal(), np.arange(N))
        assert len(np.unique(batch.observation["position"])) == N

    def test_resampling_is_repeatable_too(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        results = []
        for _ in range(2):
            batch.resample(np.random.default_rng(4))
            results.append((batch.points.tobytes(), batch.seeds.tobytes()))
        assert results[0] == results[1]
        assert len(np.unique(batch.seeds)) == N


class TestReset:
    def test_of_some_leaves_the_others_bit_identical(self, lift):
        points, seeds = points_and_seeds(lift, N)
        results = []
        for disturbed in (False, True):
            batch = CpuWorlds(lift, N)
            batch.reset(points, seeds)
            steps = play(batch, commands(N, 5, 6))
            if disturbed:
                batch.resample(np.random.default_rng(8), [1, 3, 4])
            steps += play(batch, commands(N, 15, 6))
            results.append([bits(steps, slice(i, i + 1)) for i in (0, 2, 5, 6, 7)])
        assert results[0] == results[1]

    @pytest.mark.parametrize("ids", [[1, 4], np.array([1, 4]), np.arange(N) % 3 == 1])
    def test_takes_ids_or_a_mask(self, pendulum, ids):
        batch = CpuWorlds(pendulum, N)
        batch.reset(pendulum.space.nominal(), np.arange(N))
        play(batch, commands(N, 3, 1))
        rows = np.flatnonzero(ids) if np.asarray(ids).dtype == bool else np.asarray(ids)
        batch.reset(pendulum.space.nominal(), 100 + rows, ids)
        assert np.flatnonzero(batch.time_s == 0).tolist() == rows.tolist()
        assert batch.seeds[rows].tolist() == (100 + rows).tolist()

    @pytest.mark.parametrize("ids", [[1, 4], np.arange(N) % 3 == 1], ids=["ids", "mask"])
    def test_resampling_takes_ids_or_a_mask(self, pendulum, ids):
        batch = CpuWorlds(pendulum, N)
        batch.reset(pendulum.space.nominal(), np.arange(N))
        play(batch, commands(N, 3, 1))
        batch.resample(np.random.default_rng(0), ids)
        rows = np.flatnonzero(ids) if np.asarray(ids).dtype == bool else ids
        assert np.flatnonzero(batch.time_s == 0).tolist() == list(rows)

    def test_of_none_changes_nothing(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        batch.reset(pendulum.space.nominal(), np.arange(N))
        step = play(batch, commands(N, 3, 1))[-1]
        seen = batch.reset(pendulum.space.nominal(), [], np.zeros(N, bool))
        np.testing.assert_array_equal(seen["position"], step.observation["position"])
        assert (batch.time_s > 0).all()

    def test_takes_one_point_for_all(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        point = pendulum.space.point({"actuation/swing/kp": 30.0})
        batch.reset(point, np.arange(N))
        column = pendulum.space.index("actuation/swing/kp")
        assert batch.points[:, column].tolist() == [30.0] * N
        assert batch.point(3) == point

    def test_refuses_a_wrong_number_of_points(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        points, _ = points_and_seeds(pendulum, 3)
        with pytest.raises(TrueupError, match="2 worlds were to be reset with 3 points"):
            batch.reset(points, 0, [1, 2])

    def test_refuses_a_wrong_number_of_seeds(self, pendulum):
        batch = CpuWorlds(pendulum, N)
        with pytest.raises(TrueupError, match=r"2 worlds.* 3 seeds"):
            batch.reset(pendulum.space.nominal(), [1, 2, 3], [1, 2])

    @pytest.mark.parametrize("ids", [[4, 1], [1, 1], [8], [-1], [True, False]], ids=str)
    def test_refuses_rows_that_make_no_sense_and_changes_nothing(self, pendulum, ids):
        batch = CpuWorlds(pendulum, N)
        batch.reset(pendulum.space.nominal(), np.arange(N))
        before = batch.seeds.copy()
        with pytest.raises(TrueupError, match=r"rows|worlds"):
            batch.reset(pendulum.space.nominal(), 77, ids)
        np.testing.assert_array_equal(batch.seeds, before)

    def test_refuses_a_point_out_of_bounds(self, pendulum):
        batch = CpuWorlds(pendulum, 1)
        with pytest.raises(TrueupError, match=r"'actuation/swing/kp' = 1e\+06 .*out of its bounds"):
            batch.reset(pendulum.space.points({"actuation/swing/kp": 1e6}), 0)

    def test_writing_twice_never_accumulates(self, lift):
        points, seeds = points_and_seeds(lift, 2)
        batch = CpuWorlds(lift, 2)
        fields = []
        for _ in range(2):
            batch.reset(points, seeds)
            fields.append({name: values.copy() for name, values in batch._fields.items()})
        for name in fields[0]:
            np.testing.assert_array_equal(fields[0][name], fields[1][name], err_msg=name)

    def test_refuses_no_worlds(self, pendulum):
        with pytest.raises(TrueupError, match="0 worlds cannot be simulated"):
            CpuWorlds(pendulum, 0)

    def test_names_a_start_that_is_neither_joint_nor_mocap(self):
        class Lost(Pendulum):
            def start(self, scene):
                return {"swng": np.zeros((scene.n, 1))}

        batch = CpuWorlds(Compiled(Lost(damping())), 1)
        with pytest.raises(TrueupError, match="names 'swng', which is neither a joint nor a moc"):
            batch.reset(batch.space.nominal(), 0)

    def test_places_mocap_bodies(self):
        class Aimed(Pendulum):
            def start(self, scene):
                return {"goal": np.tile([0.1, 0.2, 0.3], (scene.n, 1))}

        batch = CpuWorlds(Compiled(Aimed(damping())), 3)
        batch.reset(batch.space.nominal(), np.arange(3))
        np.testing.assert_allclose(batch.truth["truth/goal"], [[0.1, 0.2, 0.3]] * 3)


class TestStep:
    def fresh(self, compiled: Compiled, n: int = 2) -> CpuWorlds:
        batch = CpuWorlds(compiled, n)
        batch.reset(compiled.space.nominal(), np.arange(n))
        return batch

    def test_counts_time_and_ends(self, pendulum):
        batch = self.fresh(pendulum)
        steps = [batch.step(batch.hold) for _ in range(21)]
        np.testing.assert_allclose(batch.time_s, 21 * 0.02)
        timeouts = [bool(step.timeout.all()) for step in steps]
        assert timeouts == [False] * 19 + [True] * 2  # 0.4 s are 20 steps
        assert steps[19].done.all()
        assert not steps[19].success.any()

    def test_counts_success_only_after_it_lasted(self, pendulum):
        batch = self.fresh(pendulum)
        reached, succeeded = [], []
        for _ in range(60):
            step = batch.step(np.full((2, 1), 0.9))
            reached.append(batch.truth["swing_position"][:, 0] > 0.5)
            succeeded.append(step.success)
        first = np.argmax(reached, axis=0)
        assert (np.argmax(succeeded, axis=0) == first + 2).all()  # 0.06 s are three steps
        assert np.all(succeeded[-1])

    def test_starts_counting_anew_when_success_is_lost(self, pendulum):
        batch = self.fresh(pendulum, 1)
        qpos, qvel = batch.batch.bind("qpos"), batch.batch.bind("qvel")

        def step_at(angle: float) -> bool:
            qpos[:], qvel[:] = angle, 0.0
            return bool(batch.step([[angle]]).success[0])

        assert [step_at(0.8) for _ in range(2)] == [False, False]
        assert not step_at(0.1)
        assert [step_at(0.8) for _ in range(3)] == [False, False, True]

    def test_a_reset_forgets_held_success(self, pendulum):
        batch = self.fresh(pendulum, 1)
        batch.batch.bind("qpos")[:] = 0.8
        batch.step([[0.8]])
        batch.reset(pendulum.space.nominal(), 0)
        batch.batch.bind("qpos")[:] = 0.8
        assert [bool(batch.step([[0.8]]).success[0]) for _ in range(3)] == [False, False, True]

    def test_says_when_it_is_lost(self, pendulum):
        batch = self.fresh(pendulum)
        batch.batch.bind("qpos")[1] = 2.5
        step = batch.step([[0.0], [2.5]])
        assert step.failure.tolist() == [False, True]
        assert step.done.tolist() == [False, True]

    def test_resets_nothing_by_itself(self, pendulum):
        batch = self.fresh(pendulum)
        for _ in range(40):
            batch.step(batch.hold)
        np.testing.assert_allclose(batch.time_s, 0.8)

    def test_answers_with_copies(self, pendulum):
        batch = self.fresh(pendulum)
        step = batch.step(batch.hold + 0.3)
        kept = {key: values.copy() for key, values in step.observation.items()}
        private = {key: values.copy() for key, values in step.privileged.items()}
        batch.step(batch.hold - 0.3)
        for key, values in step.observation.items():
            np.testing.assert_array_equal(values, kept[key])
        for key, values in step.privileged.items():
            np.testing.assert_array_equal(values, private[key])

    def test_refuses_a_wrong_shape(self, pendulum):
        with pytest.raises(TrueupError) as caught:
            self.fresh(pendulum).step(np.zeros((3, 1)))
        assert str(caught.value) == (
            "A command of shape (3, 1) was given to 2 worlds of 'test/pendulum' with 1 servos. "
            "Give an array of shape (2, 1): swing."
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_refuses_a_command_that_is_no_number_and_stays_as_it_was(self, pendulum, bad):
        batch = self.fresh(pendulum)
        with pytest.raises(TrueupError, match=f"command for 'swing' in world 1 is {bad}"):
            batch.step([[0.0], [bad]])
        assert (batch.time_s == 0).all()

    def test_takes_lists_and_single_precision(self, pendulum):
        batch = self.fresh(pendulum)
        batch.step([[0.0], [0.1]])
        np.testing.assert_array_equal(batch.batch.ctrl, [[0.0], [0.1]])
        batch.step(np.full((2, 1), 0.5, np.float32))
        np.testing.assert_array_equal(batch.batch.ctrl, [[0.5], [0.5]])

    def test_refuses_a_world_that_is_not_there(self, pendulum):
        with pytest.raises(TrueupError, match=r"no world 2 in this batch of 2.*from 0 to 1"):
            self.fresh(pendulum).snapshot(2)


def test_memory_stays_flat():
    """A leak of one observation per step would be 15 MB here."""
    compiled = Compiled(worlds.get("so101/reach"))
    batch = CpuWorlds(compiled, 64)
    rng = np.random.default_rng(0)

    def run(steps: int) -> None:
        for k in range(steps):
            batch.step(batch.hold)
            if k % 10 == 0:
                batch.resample(rng, [0, 5])

    batch.resample(rng)
    run(20)
    before = resident_bytes()
    run(150)
    assert resident_bytes() - before < 8e6


def resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        pytest.skip("no /proc to read the memory from")


class TestResting:
    def test_a_world_that_rests_stands_still_and_the_others_do_not_notice(self, lift):
        points, seeds = points_and_seeds(lift, N)
        batch, resting = CpuWorlds(lift, N), [1, 4, 5]
        batch.reset(points, seeds)
        whole = play(batch, commands(N, 20, 6))
        batch.reset(points, seeds)
        play(batch, commands(N, 20, 6)[:8])
        batch.rest(resting)
        before = batch.time_s.copy()
        after = play(batch, commands(N, 20, 6)[8:])
        others = np.setdiff1d(np.arange(N), resting)
        assert bits(after, others) == bits(whole[8:], others)
        np.testing.assert_array_equal(batch.time_s[resting], before[resting])
        still = after[0].privileged["true_cube_position"][resting]
        np.testing.assert_array_equal(after[-1].privileged["true_cube_position"][resting], still)
        assert (batch.time_s[others] > before[others]).all() and not batch.divergences

    def test_it_goes_on_once_it_is_reset(self, lift):
        points, seeds = points_and_seeds(lift, N)
        batch = CpuWorlds(lift, N)
        batch.reset(points, seeds)
        first = bits(play(batch, commands(N, 10, 6)))
        batch.rest(np.arange(N))
        play(batch, commands(N, 3, 6))
        batch.reset(points, seeds)
        assert bits(play(batch, commands(N, 10, 6))) == first
