"""What a plan and an outlook say, for people."""

from __future__ import annotations

from pathlib import Path

from trueup.cli import show
from trueup.plan import Item, Outlook, Protocol

_ROWS_SHOWN = 12


def print_protocol(protocol: Protocol, out: Path | None) -> None:
    """Words first, then the table, then what to type."""
    for sentence in protocol.sentences:
        show.say(sentence)
    show.console().print()
    _print_items(protocol)
    for item in protocol.items:
        show.say(f"{item.number}. {item.title}: {item.why}.")
    show.console().print()
    for rule in protocol.stop:
        show.say(rule.words)
    for note in protocol.notes:
        show.say(note)
    if out is not None:
        show.say(f"\nWritten: {out}")
        _print_next(protocol, out)


def _print_next(protocol: Protocol, out: Path) -> None:
    """What to type for the best item that a robot can carry out, or else for the first."""
    item = protocol.first_recording
    if item is not None:
        chosen = ("--protocol", out, "--item", item.number, "--robot", "...", "--out", "DATA")
        show.say(f"Carry item {item.number} out: {show.command('trueup', 'record', *chosen)}")
    elif protocol.items:
        words = ("trueup", "record", "--protocol", out, "--item", 1)
        show.say(f"What item 1 asks for: {show.command(*words)}")


def _print_items(protocol: Protocol) -> None:
    table = show.table(
        "",
        "gap",
        "action",
        "points",
        "90 %",
        "in order",
        "min",
        "demos",
        "a minute",
        "trials",
        right=("points", "in order", "min", "demos", "a minute", "trials"),
        keep=("gap",),
    )
    for item in protocol.items:
        table.add_row(
            str(item.number),
            item.gap,
            item.name,
            f"{item.recovery.points:.1f}",
            f"{round(item.recovery.low)} … {round(item.recovery.high)}",
            f"{item.recovery.in_order:.1f}",
            f"{item.minutes:.0f}",
            str(item.work.demonstrations or ""),
            "" if item.per_minute is None else f"{item.per_minute:.2f}",
            "" if item.trials is None else str(item.trials),
        )
    if protocol.items:
        show.console().print(table)
        show.console().print()


def print_item(protocol: Protocol, item: Item) -> None:
    """What people are to do about an item, step by step."""
    show.say(f"Item {item.number}, against {item.gap}: {item.title}. Expected {item.recovery}.")
    for number, step in enumerate(item.work.steps, 1):
        show.say(f"  {number}. {step}")
    if item.work.demonstrations:
        each = item.work.demonstrations / max(len(item.work.conditions), 1)
        shared = f", about {each:.0f} in each condition" if item.work.conditions else ""
        show.say(f"  {item.work.demonstrations} demonstrations{shared}.")
    print_conditions(item)
    if item.work.parameters and not item.work.demonstrations:
        shown = ", ".join(item.work.parameters[:_ROWS_SHOWN])
        more = len(item.work.parameters) - _ROWS_SHOWN
        show.say(f"What it should tell: {shown}{f' and {more} more' if more > 0 else ''}.")


def print_conditions(item: Item) -> None:
    """The covering array of an item."""
    if not item.work.conditions:
        return
    table = show.table("condition", *item.work.conditions[0])
    for number, row in enumerate(item.work.conditions, 1):
        table.add_row(str(number), *row.values())
    show.console().print(table)


def print_outlook(found: Outlook) -> None:
    """Words first, then the table."""
    for sentence in found.sentences:
        show.say(sentence)
    show.console().print()
    table = show.table("gap", "of the loss", "begin with", right=("of the loss",), keep=("gap",))
    for gap, part in found.gaps.items():
        if part > 0:
            table.add_row(gap, f"{100 * part:.0f} %", found.actions.get(gap, ""))
    show.console().print(table)
    traits = ", ".join(trait.replace("_", " ") for trait in found.nature.traits)
    show.say(f"\nThe task: {traits or 'free motion'}. Source: {found.source}.")
