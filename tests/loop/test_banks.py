"""The bank of a policy: made once, also where two runs begin together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tests.loop.turns import job
from trueup.loop.stages import reading, training


def test_runs_that_begin_together_make_one_bank(tmp_path):
    told: list[list[str]] = [[], []]
    runs = [replace(job(tmp_path / name), cache=tmp_path / "cache") for name in ("a", "b")]
    for made in runs:
        training.start(made)
    with ThreadPoolExecutor(2) as both:
        telling = [replace(r, tell=t.append) for r, t in zip(runs, told, strict=True)]
        found = list(both.map(reading.bank, telling))
    assert found[0] == found[1]
    waited = [lines for lines in told if any("waiting" in line for line in lines)]
    assert len(waited) == 1 and len(waited[0]) == 1  # and did not play a world itself
    first, other = (made.path(reading.BANK).read_bytes() for made in runs)
    assert first == other
