"""An error says what failed and what to do next, and survives the way between processes."""

import pickle

import pytest

from trueup.errors import TrueupError, UnknownName, suggestion
from trueup.space import Parameter, ValueOutOfBounds

JOINTS = ("actuation/elbow/kp", "actuation/elbow/damping", "latency/action_delay")


def test_a_message_is_what_failed_and_then_what_to_do():
    error = TrueupError("The jaw is open.", fix="Close it.")
    assert str(error) == "The jaw is open. Close it."
    assert (error.what, error.fix) == ("The jaw is open.", "Close it.")


def test_a_message_without_a_fix_ends_cleanly():
    assert str(TrueupError("Nothing can be done.")) == "Nothing can be done."


def test_an_unknown_name_offers_the_nearest():
    error = UnknownName("parameter", "latency/action_dealy", JOINTS, fix="Or list them.")
    assert isinstance(error, TrueupError)
    assert str(error) == (
        "There is no parameter named 'latency/action_dealy'. "
        "Did you mean 'latency/action_delay'? Or list them."
    )
    assert error.name == "latency/action_dealy"
    assert error.known == JOINTS


def test_known_names_may_come_from_an_iterator():
    error = UnknownName("world", "b", iter(["qqqq", "wwww"]))
    assert error.known == ("qqqq", "wwww")
    assert "Known: qqqq, wwww." in str(error)


def test_several_near_names_are_joined_with_or():
    sentence = suggestion("kp", ["kp1", "kp2", "kp3", "zzzz"])
    assert sentence.startswith("Did you mean ") and sentence.endswith("?")
    assert sentence.count("'") == 6 and ", " in sentence and " or " in sentence
    assert "zzzz" not in sentence


def test_a_right_ending_behind_a_wrong_beginning_is_found():
    assert suggestion("x/dampin", JOINTS) == "Did you mean 'actuation/elbow/damping'?"


def test_names_that_share_nothing_but_their_beginning_are_all_listed():
    worlds = [f"so101/{task}" for task in ("arm", "reach", "push", "lift", "place")]
    assert suggestion("so101/nope", [*worlds, "other/thing"]) == f"Known: {', '.join(worlds)}."
    assert suggestion("so101/lft", worlds).startswith("Did you mean 'so101/lift'")


def test_far_names_are_listed_but_not_all_of_them():
    many = [f"{letter}{letter}{letter}" for letter in "abcdefg"]
    assert suggestion("12345", many) == "Known: aaa, bbb, ccc, ddd, eee and 2 more."
    assert suggestion("12345", many[:5]) == "Known: aaa, bbb, ccc, ddd, eee."


def test_nothing_to_offer_is_said():
    assert suggestion("kp", []) == "None exist yet."


@pytest.mark.parametrize(
    "error",
    [
        TrueupError("The jaw is open.", fix="Close it."),
        UnknownName("parameter", "latency/delay", JOINTS),
        ValueOutOfBounds(
            Parameter(name="latency/delay", unit="s", nominal=0, low=0, high=0.1), 0.2
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_a_process_boundary(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), back.what, back.fix) == (str(error), error.what, error.fix)
