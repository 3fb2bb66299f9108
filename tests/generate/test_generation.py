"""Generating: what is kept was verified, is reproducible, and survives whatever stops it."""

import json
import os
import shutil
import signal
import sys

import numpy as np
import pytest

from trueup.episodes import Dataset, Outcome, problems
from trueup.errors import TrueupError
from trueup.generate import Order, generate, scripted
from trueup.generate.attempts import Draw
from trueup.generate.motion.servos import Servos
from trueup.simulate import CpuWorlds
from trueup.space import Point, Space
from trueup.worlds import Compiled, get

NOMINAL = Space(())


@pytest.fixture(scope="module")
def reach():
    return get("so101/reach")


@pytest.fixture(scope="module")
def lift():
    return get("so101/lift")


def order(world, episodes, **rest):
    given = {"space": NOMINAL, "mistakes": 0.0, **rest}
    return Order(world=world, source=(scripted(world),), episodes=episodes, **given)


def contents(folder):
    return [
        (e.task, dict(e.origin), [c.values.tobytes() for c in e.signals.values()])
        for e in Dataset.open(folder)
    ]


@pytest.fixture(scope="module")
def lifted(lift, tmp_path_factory):
    """Lifts under default randomization, some with mistakes."""
    folder = tmp_path_factory.mktemp("lifted") / "set"
    made = generate(order(lift, 24, space=lift.space, mistakes=0.5, privileged=True), folder)
    return made, Dataset.open(folder)


def test_what_is_kept_succeeded_and_is_whole(lifted):
    made, dataset = lifted
    assert made.episodes == len(dataset) == 24
    assert made.attempts == 24 + sum(made.failures.values())
    assert {about.outcome for about in dataset.abouts()} == {Outcome.SUCCESS}
    assert list(problems(dataset.folder)) == []


def test_an_episode_holds_what_a_robot_records_and_says_that_it_is_simulated(lifted, lift):
    _, dataset = lifted
    episode = dataset[0]
    own = [name for name in episode.signals if not name.startswith("privileged.")]
    assert own == [*(s.name for s in lift.observations), "command"]
    hidden = [f"privileged.{s.name}" for s in lift.privileged]
    assert [name for name in episode.signals if name.startswith("privileged.")] == hidden
    assert episode["command"].names == lift.commands
    assert (episode.origin["real"], episode.origin["label"]) == (False, "simulated")
    assert set(episode.origin["point"]) == set(lift.space.names)


def test_the_task_is_said_in_several_ways(lifted):
    _, dataset = lifted
    assert len(dataset.info.tasks) > 5


def test_mistakes_are_marked_and_found_back_from(lifted):
    _, dataset = lifted
    abouts = list(dataset.abouts())
    kinds = {about.labels["recovery"] for about in abouts if about.labels}
    assert len(kinds) >= 3
    for i, about in enumerate(abouts):
        marked = "mistake_frames" in about.origin
        assert marked == (about.labels.get("recovery") in ("missed grasp", "slip"))
        if marked:
            first, after = about.origin["mistake_frames"]
            assert 0 <= first < after < len(dataset[i]["command"])


def test_commands_are_such_that_servos_follow(lifted, lift):
    _, dataset = lifted
    servos = Servos(lift.model, lift.control_period_s)
    for i in range(4):
        episode = dataset[i]
        told, read = (episode[name].values for name in ("command", "joint_position"))
        ahead = np.abs(told[1:] - read[1:])
        # a command that a rate limit holds back may be further from its joint than that
        assert (np.abs(np.diff(told, axis=0)) <= servos.step + 1e-5).all()
        assert np.quantile(ahead - servos.reach, 0.99) < 0.02


@pytest.mark.parametrize("i", [0, 1, 2])
def test_an_episode_happens_again_from_its_origin(lift, tmp_path_factory, i):
    folder = tmp_path_factory.getbasetemp() / "again"
    if not folder.exists():
        generate(order(lift, 3, space=lift.space, seed=3), folder)
    episode = Dataset.open(folder)[i]
    point = Point(episode.origin["point"])
    worlds = CpuWorlds(Compiled(lift, lift.space), 1)
    worlds.reset(point, [episode.origin["seed"]])
    step = None
    for k, command in enumerate(episode["command"].values):
        seen = worlds.observation["joint_position"][0].astype(np.float32)
        assert np.array_equal(seen, episode["joint_position"].values[k])
        step = worlds.step(command[None])
    assert step is not None and step.success[0]


def test_fewer_are_the_first_of_more_whatever_runs_beside_them(reach, tmp_path):
    generate(order(reach, 3), tmp_path / "few", slots=2)
    generate(order(reach, 9), tmp_path / "many", slots=32)
    many = contents(tmp_path / "many")
    assert contents(tmp_path / "few") == many[:3]
    made = generate(order(reach, 9), tmp_path / "few", slots=4)
    assert (made.before, made.episodes) == (3, 9)
    assert contents(tmp_path / "few") == many


def test_another_seed_makes_other_episodes(reach, tmp_path):
    for seed in (0, 1):
        generate(order(reach, 2, seed=seed), tmp_path / str(seed))
    one, other = (contents(tmp_path / name)[0][2] for name in ("0", "1"))
    assert one != other


def test_attempts_depend_on_their_number_alone(lift):
    together = Draw(lift.space, 7).numbered(np.arange(250, 520))
    alone = Draw(lift.space, 7).numbered(np.array([300]))
    assert np.array_equal(alone.points.values[0], together.points.values[50])
    assert alone.seeds[0] == together.seeds[50]
    text = json.dumps(dict(alone.points[0]))
    assert json.loads(text) == dict(alone.points[0])
    low, high = np.array([(p.low, p.high) for p in lift.space]).T
    assert ((together.points.values >= low) & (together.points.values <= high)).all()


def killed_at(move, folder, wanted):
    """Generate in a process that is killed before a move of the file system; whether it was."""
    child = os.fork()
    if child == 0:
        left = [move]

        def hook(event, arguments):
            if event == "os.rename" and str(folder) in str(arguments[0]):
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1

        sys.addaudithook(hook)
        try:
            generate(wanted, folder, threads=1)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_run_that_was_killed_goes_on_without_a_trace(reach, tmp_path):
    wanted = order(reach, 3)
    generate(wanted, tmp_path / "whole", threads=1)
    whole, moves = contents(tmp_path / "whole"), 0
    folder = tmp_path / "cut"
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        if not killed_at(moves, folder, wanted):
            break
        made = generate(wanted, folder, threads=1)
        assert (made.episodes, made.attempts) == (3, 3), moves
        assert contents(folder) == whole, moves
        assert list(problems(folder)) == [], moves
        moves += 2
    assert moves > 6


def test_a_folder_that_was_begun_otherwise_is_refused(reach, tmp_path):
    generate(order(reach, 1), tmp_path / "set")
    with pytest.raises(TrueupError, match="its seed was 0, here it is 1"):
        generate(order(reach, 2, seed=1), tmp_path / "set")


def test_attempts_that_lead_nowhere_are_told_with_the_reason(reach, tmp_path):
    class Never(type(reach)):
        def success(self, s):
            return s.time < 0.0

    with pytest.raises(TrueupError, match=r"Only 0 of \d+ attempts worked; \d+ times the time"):
        generate(order(Never(), 400), tmp_path / "set")


def test_an_order_that_makes_no_sense_is_told(reach):
    with pytest.raises(TrueupError, match="0 episodes cannot be generated"):
        order(reach, 0)
    with pytest.raises(TrueupError, match=r"mistake is 1\.5"):
        order(reach, 1, mistakes=1.5)
