"""`trueup train --from-episodes`, as it is typed."""

from __future__ import annotations

import json

import pytest

from tests.train.imitation.reaches import reaches
from trueup.cli.train import Train
from trueup.errors import TrueupError
from trueup.policies import Policy


def test_it_trains_and_says_what_came_of_it(tmp_path, capsys):
    Train(
        world="so101/reach",
        from_episodes=(reaches(),),
        steps=20,
        hidden=(16,),
        chunk=4,
        out=tmp_path / "run",
        threads=1,
        json=True,
    ).run()
    found = json.loads(capsys.readouterr().out)
    assert found["label"] == "sim-to-sim"
    assert found["demonstrations"] == {str(reaches()): 32}
    chunk = Policy.load(found["policy"]).contract.chunk
    assert chunk is not None
    assert chunk.length == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"plan": "sobol"}, "--plan says nothing"),
        ({"target_nominal": 0.5}, "--target-nominal says nothing"),
        ({"weights": (1.0, 2.0)}, "2 numbers for 1 datasets"),
        ({"choose_weight": True}, "there are 1 datasets"),
        ({"weights": (-1.0,)}, "weight of .* is -1.0"),
        ({"from_episodes": (), "chunk": 3}, "--chunk says nothing to a training from reward"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, options, words):
    with pytest.raises(TrueupError, match=words):
        given = {"from_episodes": (reaches(),), **options}
        Train(world="so101/reach", out=tmp_path / "run", **given).run()
