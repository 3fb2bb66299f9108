"""An expert that is asked at every moment: it succeeds, errs where it should, and finds back."""

import numpy as np
import pytest

from trueup.cli.entry import main
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.generate import Order, advisor, generate
from trueup.generate.motion.servos import Servos
from trueup.policies import Feature
from trueup.space import Space
from trueup.train.imitation import Portion
from trueup.train.imitation.demonstrations import shown
from trueup.worlds import get, interface_of
from trueup.worlds.so101_tasks import Lift


@pytest.fixture(scope="module")
def lift():
    return get("so101/lift")


def order(world, episodes, **rest):
    given = {"space": Space(()), **rest}
    return Order(world=world, source=advisor(world), episodes=episodes, **given)


@pytest.fixture(scope="module")
def strayed(lift, tmp_path_factory):
    folder = tmp_path_factory.mktemp("strayed") / "set"
    return generate(order(lift, 12), folder), Dataset.open(folder)


def test_commands_go_astray_and_the_way_back_is_found(strayed):
    made, dataset = strayed
    assert made.share > 0.8
    for about in dataset.abouts():
        assert about.labels["recovery"] == "strayed"
        frames = about.origin["mistake_frames"]
        assert frames == sorted(frames) and len(frames) % 2 == 0 and len(frames) >= 2


def test_what_went_astray_is_seen_and_not_learned(strayed, lift):
    _, dataset = strayed
    features: tuple[Feature, ...] = interface_of(lift).observations
    found = shown(Portion(dataset=dataset.folder), lift, features)
    for stretch in found.stretches:
        frames = dataset.about(stretch.episode).origin["mistake_frames"]
        wrong = np.zeros(len(stretch), bool)
        for first, after in zip(frames[::2], frames[1::2], strict=True):
            wrong[first:after] = True
        assert 0 < wrong.sum() < len(wrong)
        assert np.array_equal(stretch.right, ~wrong)


def test_outside_of_mistakes_it_does_as_advised(strayed, lift):
    _, dataset = strayed
    servos, episode = Servos(lift.model, lift.control_period_s), dataset[0]
    told, read = (episode[name].values for name in ("command", "joint_position"))
    assert (np.abs(np.diff(told, axis=0)) <= servos.step + 1e-5).all()
    assert np.quantile(np.abs(told - read) - servos.reach, 0.99) < 0.02


def test_without_mistakes_nothing_is_marked_and_it_is_faster(strayed, lift, tmp_path):
    generate(order(lift, 6, mistakes=0.0), tmp_path / "straight")
    straight = Dataset.open(tmp_path / "straight")
    assert not any("mistake_frames" in about.origin for about in straight.abouts())
    lengths = [[len(dataset[i]["command"]) for i in range(6)] for dataset in (straight, strayed[1])]
    assert np.mean(lengths[0]) < np.mean(lengths[1])


def test_an_episode_does_not_depend_on_those_made_beside_it(lift, tmp_path):
    """Worlds differ here, and the expert knows each one's own numbers."""
    sets = []
    for name, episodes, slots in (("few", 3, 2), ("many", 8, 8)):
        generate(order(lift, episodes, space=lift.space), tmp_path / name, slots=slots)
        sets.append(Dataset.open(tmp_path / name))
    for i in range(3):
        few, many = (dataset[i] for dataset in sets)
        assert few.origin == many.origin
        assert few["command"].values.tobytes() == many["command"].values.tobytes()


class Mute(Lift):
    """A lift whose expert has lost its voice."""

    def expert(self):
        return lambda observation, privileged: np.full(
            (len(observation["joint_position"]), 6), np.nan
        )


def test_an_expert_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(TrueupError, match="answered with nan"):
        generate(order(Mute(), 1), tmp_path / "set")


def test_a_world_without_an_expert_gets_a_sentence(tmp_path, capsys):
    out = str(tmp_path / "set")
    assert main(["generate", "so101/reach", "--source", "expert", "--out", out]) == 2
    assert "no expert that could be asked" in capsys.readouterr().err
