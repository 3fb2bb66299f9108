"""From answers to targets, and from readings to inputs: laws, and numbers with a name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup.policies import Drive, Memory

N, SERVOS = 4, 3
CLOSE = 1e-9


def numbers(low: float, high: float, *shape: int):
    return arrays(float, shape, elements=st.floats(low, high))


@st.composite
def drives(draw) -> Drive:
    low = draw(numbers(-3.0, 0.0, SERVOS))
    return Drive(
        low=low,
        high=low + draw(numbers(0.01, 4.0, SERVOS)),
        lead=draw(numbers(0.01, 1.0, SERVOS)),
        rate=draw(numbers(0.1, 50.0, SERVOS)),
        period_s=draw(st.floats(0.001, 0.1)),
    )


answers = numbers(-5.0, 5.0, N, SERVOS)
joints = numbers(-4.0, 4.0, N, SERVOS)
shares = numbers(0.0, 1.0, N, SERVOS)


def within(drive: Drive, shares: np.ndarray) -> np.ndarray:
    """Targets inside the limits."""
    return drive.low + shares * (drive.high - drive.low)


@given(drives(), shares, answers, joints)
def test_a_target_stays_in_its_limits_and_moves_no_faster_than_it_may(drive, shares, answer, q):
    before = within(drive, shares)
    after = drive.moved(before, answer, q)
    assert (after >= drive.low).all() and (after <= drive.high).all()
    assert (np.abs(after - before) <= drive.rate * drive.period_s + CLOSE).all()


@given(drives(), shares, answers, joints)
def test_a_target_leads_its_joint_by_the_answer_unless_something_stops_it(drive, shares, answer, q):
    before = within(drive, shares)
    after = drive.moved(before, answer, q)
    wanted = q + np.clip(answer, -1.0, 1.0) * drive.lead
    step = drive.rate * drive.period_s
    free = (np.abs(wanted - before) <= step) & (wanted >= drive.low) & (wanted <= drive.high)
    np.testing.assert_allclose(after[free], wanted[free], atol=CLOSE)
    # where it is stopped, it has gone as far as it could
    stopped = ~free
    reach = np.clip(np.where(wanted > before, before + step, before - step), drive.low, drive.high)
    far = np.abs(wanted - before) > step
    np.testing.assert_allclose(after[stopped & far], reach[stopped & far], atol=CLOSE)


@given(drives(), shares, answers, joints)
def test_answers_beyond_one_count_as_one_and_more_never_gives_less(drive, shares, answer, q):
    before = within(drive, shares)
    clipped = np.clip(answer, -1.0, 1.0)
    np.testing.assert_array_equal(drive.moved(before, answer, q), drive.moved(before, clipped, q))
    more = drive.moved(before, answer + 0.5, q)
    assert (more >= drive.moved(before, answer, q) - CLOSE).all()


@given(drives(), shares, answers, joints)
def test_rows_and_servos_do_not_touch_each_other(drive, shares, answer, q):
    before = within(drive, shares)
    together = drive.moved(before, answer, q)
    for row in range(N):
        alone = drive.moved(before[row : row + 1], answer[row : row + 1], q[row : row + 1])
        np.testing.assert_array_equal(alone[0], together[row])


def test_a_blocked_joint_does_not_wind_up():
    """A target that leads a blocked joint comes back as soon as the answer does."""
    drive = Drive(
        low=np.array([-2.0]),
        high=np.array([2.0]),
        lead=np.array([0.3]),
        rate=np.array([10.0]),
        period_s=0.05,
    )
    blocked, targets = np.array([[0.1]]), np.array([[0.1]])
    for _ in range(100):
        targets = drive.moved(targets, np.array([[1.0]]), blocked)
    np.testing.assert_allclose(targets, 0.4)
    targets = drive.moved(targets, np.array([[-1.0]]), blocked)
    np.testing.assert_allclose(targets, -0.1)  # at once, as fast as its rate allows
    np.testing.assert_allclose(drive.moved(targets, np.array([[-1.0]]), blocked), -0.2)


def observed(k: int) -> np.ndarray:
    """(2, 3) numbers that name step, row and column."""
    return 100.0 * k + 10.0 * np.arange(1, 3)[:, None] + np.arange(3)


@pytest.mark.parametrize("history", [1, 2, 4])
def test_a_memory_holds_the_newest_first_each_with_the_targets_sent_before_it(history):
    memory = Memory(2, width=3, servos=1, history=history)
    memory.begin(slice(None), observed(0), np.array([[-1.0], [-2.0]]))
    frames = [np.concatenate([observed(0), [[-1.0], [-2.0]]], axis=1)] * history
    np.testing.assert_array_equal(memory.input, np.concatenate(frames, axis=1))
    for k in range(1, 7):
        memory.targets = np.array([[-10.0 * k], [-20.0 * k]])
        memory.see(observed(k))
        frames = [np.concatenate([observed(k), memory.targets], axis=1), *frames[:-1]]
        np.testing.assert_array_equal(memory.input, np.concatenate(frames, axis=1))
    assert memory.input.dtype == np.float32


def test_a_row_that_begins_anew_forgets_and_the_others_do_not():
    memory = Memory(2, width=3, servos=1, history=3)
    memory.begin(slice(None), observed(0), np.zeros((2, 1)))
    for k in (1, 2):
        memory.see(observed(k))
    kept = memory.input[0].copy()
    memory.begin(np.array([1]), observed(9)[1:], np.array([[7.0]]))
    np.testing.assert_array_equal(memory.input[0], kept)
    np.testing.assert_array_equal(memory.input[1], np.tile([920.0, 921.0, 922.0, 7.0], 3))
    assert memory.targets.tolist() == [[0.0], [7.0]]


def test_an_input_holds_until_two_more_were_seen():
    memory = Memory(2, width=3, servos=1, history=2)
    memory.begin(slice(None), observed(0), np.zeros((2, 1)))
    now = memory.input
    before = now.copy()
    memory.see(observed(1))
    memory.begin(np.array([0]), observed(5)[:1], np.ones((1, 1)))
    np.testing.assert_array_equal(now, before)
