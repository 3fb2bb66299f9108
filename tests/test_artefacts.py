"""A stored result is read as what it is, or refused in one sentence that says what to do."""

import json

import pytest

from trueup.artefacts import Artefact
from trueup.diagnose import GapReport
from trueup.episodes.consent.receipt import Receipt
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.plan.protocol import Protocol

SUM = Artefact(
    format="trueup/sum",
    version=2,
    called="a sum",
    written="`trueup add` writes one.",
    again="Add again",
)


def read(path) -> int:
    return SUM.read(SUM.load(path), str(path), lambda data: data["a"] + data["b"])


def test_what_was_written_is_read(tmp_path):
    file = tmp_path / "sum.json"
    file.write_text(json.dumps({**SUM.mark, "a": 1, "b": 2}))
    assert read(file) == 3


WRONG = [
    (b"{", "is not JSON", "Add again."),
    (b"\xff", "is not JSON", "Add again."),
    (b"[]", "is not a sum.", "`trueup add` writes one."),
    (b"{}", "is not a sum.", "`trueup add` writes one."),
    (
        b'{"format": "trueup/sum", "version": 1}',
        "has version 1, and this trueup reads 2.",
        "Add again, or use the trueup that wrote it.",
    ),
    (b'{"format": "trueup/sum", "version": 2}', "is damaged: KeyError 'a'.", "Add again."),
    (b'{"format": "trueup/sum", "version": 2, "a": 1, "b": "x"}', "is damaged", "Add again."),
]


@pytest.mark.parametrize(("stored", "what", "fix"), WRONG)
def test_anything_else_is_refused_in_words(tmp_path, stored, what, fix):
    file = tmp_path / "sum.json"
    file.write_bytes(stored)
    with pytest.raises(TrueupError) as caught:
        read(file)
    assert str(file) in caught.value.what
    assert what in caught.value.what
    assert caught.value.fix == fix


@pytest.mark.parametrize("kind", [Estimate, GapReport, Protocol, Receipt])
def test_every_stored_result_refuses_what_it_is_not(tmp_path, kind):
    with pytest.raises(TrueupError, match="could not be read: No such file"):
        kind.load(tmp_path / "none.json")
    file = tmp_path / "other.json"
    file.write_text(json.dumps(SUM.mark))
    with pytest.raises(
        TrueupError, match=r"is not (an estimate|a gap report|a protocol|the receipt)"
    ):
        kind.load(file)
