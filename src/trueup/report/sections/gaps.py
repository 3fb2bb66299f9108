"""The waterfall: from simulated success down to the robot's, a step for each gap."""

from __future__ import annotations

from trueup.diagnose import GapReport, Share
from trueup.report.blocks import Kind, Listing, Mark, Prose, Row, Table, Tone
from trueup.report.blocks.marks import PERCENT
from trueup.report.material import Material, Tried
from trueup.report.section import Block, Section
from trueup.report.words import interval, lost, points, rate, span

_COLUMNS = ("step", "success or points", "90 % interval")
_SAYS = (
    "Each step down is success lost to one gap; the thin line is its 90 % interval. Steps in grey "
    "cannot be told from nothing."
)


def gaps_section(material: Material) -> Section:
    """Where the success went, before and after."""
    before, after = material.before, material.after
    blocks: list[Block] = []
    if before.shares:
        blocks.append(waterfall(before, caption=f"Before: from simulation to {material.robot}"))
    else:
        blocks.append(_bare(before, f"Before: in simulation and on {material.robot}"))
    if isinstance(after, GapReport) and after.shares:
        blocks.append(waterfall(after, caption=f"After: from simulation to {material.robot}"))
    elif after is not None:
        blocks.append(_bare(after, f"After: in simulation and on {material.robot}"))
    else:
        blocks.append(Prose(text="No trials were made since, so there is no picture of after."))
    blocks += _pairs(before)
    blocks += _looked(material.look, before)
    data = {
        "before": before.to_json(),
        "look": None if material.look is None else material.look.to_json(),
        "after": after.to_json() if isinstance(after, GapReport) else _counted(after),
    }
    return Section(key="gaps", title="Where the success went", blocks=tuple(blocks), data=data)


def waterfall(report: GapReport, *, caption: str) -> Table:
    """From simulated success to the robot's; the steps add up exactly."""
    level = 100.0 * report.simulated.share
    rows = [_end("simulated", report, simulated=True)]
    for share in report.ranked:
        rows.append(_step(share, level))
        level -= share.points
    return Table(
        caption=caption,
        says=f"{_of(report)} {_SAYS}",
        columns=_COLUMNS,
        rows=(*rows, _end("on the robot", report, simulated=False)),
        scale=PERCENT,
        drawing="success",
        right=_COLUMNS[1:],
    )


def _of(report: GapReport) -> str:
    evidence = " and ".join(report.evidence) or "no evidence"
    if report.loss < 0.5:
        return f"Nothing was lost between simulation and robot, judged by {evidence}."
    were = "was" if points(report.loss) == "1" else "were"
    return f"{lost(report.loss)} {were} lost, split by {evidence}."


def _end(name: str, report: GapReport | Tried, *, simulated: bool) -> Row:
    r = report.simulated if simulated else report.measured
    low, high = r.interval()
    tone = Tone.SIMULATED if simulated else Tone.REAL
    bar = Mark(kind=Kind.BAR, low=0.0, high=100.0 * r.share, tone=tone)
    whisker = Mark(kind=Kind.WHISKER, low=100 * low, high=100 * high, tone=tone)
    return Row(cells=(name, rate(r), interval(r)), marks=(bar, whisker), strong=True)


def _step(share: Share, level: float) -> Row:
    """A bar from where the last step ended; its whisker says where this one may end."""
    tone = Tone.WON if share.points < 0 else Tone.LOST
    if share.low <= 0.0 <= share.high:
        tone = Tone.UNSURE
    bar = Mark(kind=Kind.BAR, low=level - share.points, high=level, tone=tone)
    whisker = Mark(kind=Kind.WHISKER, low=level - share.high, high=level - share.low, tone=tone)
    change = points(-share.points, 1)
    plus = "+" if share.points < 0 and change != points(0.0, 1) else ""
    cells = (share.gap, f"{plus}{change}", span(-share.high, -share.low))
    return Row(cells=cells, marks=(bar, whisker))


def _bare(report: GapReport | Tried, caption: str) -> Table:
    """Two ends, where nothing was split."""
    ends = (
        _end("simulated", report, simulated=True),
        _end("on the robot", report, simulated=False),
    )
    return Table(
        caption=caption,
        says=f"{_between(report)} The thin lines are 90 % intervals.",
        columns=("where", "success", "90 % interval"),
        rows=ends,
        scale=PERCENT,
        drawing="success",
        right=("success", "90 % interval"),
    )


def _between(report: GapReport | Tried) -> str:
    if report.loss <= 0:
        return "The robot does no worse than the simulator promises."
    return (
        f"From simulation to robot, {lost(report.loss)} went missing; nobody has split that by gap."
    )


def _pairs(report: GapReport) -> list[Block]:
    said = tuple(
        f"{pair.gaps[0]} and {pair.gaps[1]}: {points(abs(pair.points))} points "
        f"{'more' if pair.points > 0 else 'less'} together than one by one "
        f"(90 % interval {span(pair.low, pair.high)})."
        for pair in report.interactions
        if pair.sure
    )
    return [Listing(head="Gaps that act together", items=said)] if said else []


def _looked(look: GapReport | None, before: GapReport) -> list[Block]:
    if look is None or not look.shares:
        return []
    rows = tuple(Row(cells=(s.gap, *_both(look.share(s.gap)), *_both(s))) for s in before.ranked)
    columns = ("gap", "first look", "its 90 %", "in the end", "90 %")
    says = (
        "The first look rests on trials alone and says what to record; what was recorded then "
        "narrows the shares. Points lost to each gap."
    )
    return [
        Table(
            caption="What recordings added to the diagnosis",
            says=says,
            columns=columns,
            rows=rows,
            right=columns[1:],
        )
    ]


def _both(share: Share) -> tuple[str, str]:
    return points(share.points, 1), span(share.low, share.high)


def _counted(tried: Tried | None) -> dict | None:
    if tried is None:
        return None
    return {"simulated": vars(tried.simulated), "measured": vars(tried.measured)}
