"""The plan: what to do next, what it should give, and when to stop."""

from __future__ import annotations

from trueup.plan import Item, Protocol
from trueup.report.blocks import Kind, Listing, Mark, Prose, Row, Table, Tone
from trueup.report.blocks.marks import upto
from trueup.report.material import Material
from trueup.report.section import Block, Section
from trueup.report.words import points, span

_COLUMNS = ("what to do", "against", "points back", "90 % interval", "minutes", "trials")

_OLDER = (
    "This plan was made from the first look, by trials alone, before anything was recorded: it "
    "says what to record. What is next now, `trueup plan` says from the newer gap report."
)


def plan_section(material: Material) -> Section:
    """What was, or is, to be done about it."""
    protocol = material.protocol
    blocks: tuple[Block, ...] = (
        Prose(text="Nothing was planned: `trueup plan` turns a gap report into work."),
    )
    if protocol is not None:
        blocks = tuple(_blocks(protocol))
    if material.planned_before:
        blocks = (Prose(text=_OLDER), *blocks)
    data = {"protocol": None if protocol is None else protocol.to_json()}
    return Section(key="plan", title="The plan", blocks=blocks, data=data)


def _blocks(protocol: Protocol) -> list[Block]:
    blocks: list[Block] = [Prose(text=" ".join(protocol.sentences[:3]))]
    if protocol.items:
        blocks.append(_table(protocol))
        why = tuple(f"{item.title}: {item.why}." for item in protocol.items)
        blocks.append(Listing(head="Why in this order", items=why, numbered=True))
    if protocol.stop:
        words = tuple(rule.words for rule in protocol.stop)
        blocks.append(Listing(head="When to stop", items=words))
    if protocol.notes:
        blocks.append(Listing(head="What could not be planned", items=protocol.notes))
    return blocks


def _table(protocol: Protocol) -> Table:
    most = max(max(item.recovery.high, item.recovery.points) for item in protocol.items)
    return Table(
        caption="What to do, most points a minute first",
        says="The bar is the success that should come back if this alone is done, in points of a "
        "hundred; the thin line is its 90 % interval. Trials are how many would show it.",
        columns=_COLUMNS,
        rows=tuple(_row(item) for item in protocol.items),
        scale=upto(most),
        drawing="points expected back",
        right=_COLUMNS[2:],
    )


def _row(item: Item) -> Row:
    back = item.recovery
    marks = (
        Mark(kind=Kind.BAR, low=0.0, high=back.points, tone=Tone.WON),
        Mark(kind=Kind.WHISKER, low=back.low, high=back.high, tone=Tone.WON),
    )
    cells = (
        f"{item.number}. {item.title}",
        item.gap,
        points(back.points, 1),
        span(back.low, back.high),
        f"{item.minutes:.0f}",
        "too many" if item.trials is None else f"{item.trials}",
    )
    return Row(cells=cells, marks=marks)
