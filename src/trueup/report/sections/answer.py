"""The answer in three sentences: what was lost to what, what was learned, what came of it."""

from __future__ import annotations

import math

from trueup.diagnose import UNEXPLAINED, GapReport, Rate
from trueup.evaluate.words import percent
from trueup.report.blocks import Listing, Prose
from trueup.report.material import Material
from trueup.report.section import Block, Section
from trueup.report.words import counted, interval, lost, points, rate, seconds

_CHANCE = ", which so few trials cannot tell from chance"
_SMALL = 5.0  # points: less is not worth a search


def answer_section(material: Material) -> Section:
    """For those who read no further."""
    three = (_lost(material), _learned(material), _came(material))
    blocks: list[Block] = [Prose(text=text, lead=True) for text in three]
    if material.stopped:
        blocks.append(Prose(text=material.stopped))
    notes = (*material.before.notes, *_notes_after(material))
    if notes:
        blocks.append(Listing(head="To bear in mind", items=notes))
    return Section(
        key="answer",
        title="The answer",
        blocks=tuple(blocks),
        data={"sentences": list(three), "stopped": material.stopped, "notes": list(notes)},
    )


def _lost(material: Material) -> str:
    before = material.before
    said = (
        f"The policy succeeds in {percent(before.simulated.share)} of simulated episodes and in "
        f"{rate(before.measured)} of its trials on {material.robot}"
    )
    if before.loss < _SMALL:
        more = f", {points(-before.loss)} points more" if before.loss < -_SMALL else ""
        return f"{said}{more}: nothing worth a search was lost."
    first = before.ranked[0]
    if not before.shares:
        return f"{said}: {lost(before.loss)} are lost."
    sure = f"{points(first.points)} points, 90 % interval {points(first.low)} to "
    part = "most of it" if before.mostly else "the largest part of it"
    cause = f"no effect of the simulator explains {part}"
    if first.gap != UNEXPLAINED:
        cause = f"{first.gap} costs the most" if first.sure else f"{first.gap} is suspected first"
    return f"{said}: {lost(before.loss)} are lost, and {cause} ({sure}{points(first.high)})."


def _learned(material: Material) -> str:
    if not material.estimates:
        return _nothing_learned(material)
    found = material.findings
    pinned = sum(f.verdict == "pinned" for f in found)
    untold = sum(f.verdict == "not told" for f in found)
    took = "Recordings"
    if material.recorded is not None:
        took = (
            f"{seconds(material.recorded.seconds)} of recordings "
            f"({counted(material.recorded.episodes, 'motion')})"
        )
    doubt = f" and left {untold} untold" if untold else ""
    return f"{took} pinned {pinned} of {counted(len(found), 'parameter')}{doubt}."


def _nothing_learned(material: Material) -> str:
    heard = [word for word in material.before.evidence if word != "trials"]
    if heard:
        return (
            f"The gap report rests on {' and '.join(heard)}, but this report was given no estimate "
            "(--estimate), so it cannot say what they told."
        )
    return "Nothing has been identified from recordings yet, so the simulator is as it was."


def _came(material: Material) -> str:
    after, before = material.after, material.before
    if after is None:
        return _next(material)
    gained = 100.0 * (after.measured.share - before.measured.share)
    said = (
        f"Retrained in the simulator that was trued up, the policy succeeds in "
        f"{rate(after.measured)} of its trials on {material.robot} "
        f"(90 % interval {interval(after.measured)})"
    )
    if before.loss < _SMALL:
        return f"{said}, where it was {percent(before.measured.share)}."
    chance = "" if _rose(before.measured, after.measured) else _CHANCE
    if gained <= 0:
        return f"{said}: none of the {points(before.loss)} lost points came back{chance}."
    return f"{said}: {points(gained)} of the {points(before.loss)} lost points came back{chance}."


def _rose(first: Rate, last: Rate) -> bool:
    """Whether success rose, as far as 90 % can tell (Newcombe's interval of a difference)."""
    low, high = last.interval()[0], first.interval()[1]
    doubt = math.hypot(last.share - low, high - first.share)
    return last.share - first.share > doubt


def _next(material: Material) -> str:
    newer = material.planned_before
    if material.protocol is not None and material.protocol.items and not newer:
        item = material.protocol.items[0]
        return f"Next: {item.title} ({item.recovery} expected to come back)."
    said = material.before.sentences
    return said[2] if len(said) > 2 else "No trials were made since."


def _notes_after(material: Material) -> tuple[str, ...]:
    after = material.after
    return tuple(f"Afterwards: {n}" for n in after.notes) if isinstance(after, GapReport) else ()
