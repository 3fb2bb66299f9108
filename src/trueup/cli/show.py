"""Numbers, tables and progress for people; JSON for programs."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table


class _Output(Console):
    """A console that leaves the end of a pipe to `main`; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Standard output; 100 columns wide where nobody says how wide it is."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return _Output(width=None if known else 100, highlight=False, soft_wrap=False)


def table(*columns: str, right: tuple[str, ...] = (), keep: tuple[str, ...] = ()) -> Table:
    """An empty table.

    Args:
        columns: Headings.
        right: Headings of columns of numbers.
        keep: Headings of columns whose cells must not be broken over lines.
    """
    made = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold",
            no_wrap=name in keep or name in right,
        )
    return made


def command(*words: object) -> str:
    """A command to copy, whatever stands in its paths."""
    return shlex.join(str(word) for word in words)


def say(sentence: str) -> None:
    """A sentence for people: taken as it is, and not broken, so that paths can be copied."""
    console().print(sentence, markup=False, highlight=False, soft_wrap=True)


def print_facts(facts: Mapping[str, str]) -> None:
    """A table of names and what there is to say of each."""
    rows = table("what", "value", keep=("what",))
    rows.show_header = False
    for name, text in facts.items():
        rows.add_row(f"[bold]{name}[/bold]", escape(text))
    console().print(rows)


def as_json(data: Any) -> str:
    """JSON text that any parser reads: no NaN."""
    return json.dumps(data, indent=1, allow_nan=False)


def print_json(data: Any) -> None:
    """The only thing a command with --json writes to standard output."""
    print(as_json(data))


def number(x: float) -> str:
    """Three significant digits; thousands in groups, so that no small exponent appears."""
    text = f"{x:.3g}"
    if "e+" in text:
        return f"{float(text):,.0f}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def span(low: float, high: float) -> str:
    """Two ends as `a … b`, or as `± b` where they mirror each other."""
    if low == high:
        return f"= {number(low)}"
    return f"± {number(high)}" if low == -high else f"{number(low)} … {number(high)}"


def unit(name: str) -> str:
    """A unit for a table; a pure number has none."""
    return "" if name == "1" else name


def percent(successes: int, n: int) -> str:
    """A share with its interval, e.g. `82.1 %  (95 % interval 79.6 – 84.3)`."""
    from trueup.evaluate import wilson  # an engine comes with it, and most tables need none

    low, high = wilson(successes, n)
    share = 100 * successes / max(n, 1)
    return f"{share:.1f} %  (95 % interval {100 * low:.1f} – {100 * high:.1f})"


@contextmanager
def progress(label: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, where a person looks; yields what to call with steps done."""
    if quiet or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.update(task, advance=steps)
