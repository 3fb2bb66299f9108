"""Policies are called by what tells them apart."""

import pytest

from trueup.cli.players import short_names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("script",), ("script",)),
        (("/a/run/train/policy",), ("train",)),
        (("/a/run/train/policy", "/a/run/retrain/policy"), ("train", "retrain")),
        (("/a/one/train/policy", "/a/two/train/policy"), ("one/train", "two/train")),
        (("runs/a", "script"), ("a", "script")),
        (("/policy",), ("policy",)),
    ],
)
def test_a_name_is_as_short_as_tells_it_from_the_others(words, names):
    assert short_names(words) == dict(zip(words, names, strict=True))


def test_where_nothing_tells_them_apart_they_keep_their_addresses():
    words = ("/a/one/policy", "/a/one")
    assert short_names(words) == {word: word for word in words}
