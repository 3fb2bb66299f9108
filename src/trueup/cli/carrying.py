"""An item of a protocol, carried out: motions recorded in every condition, or told to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.cli import protocols, recordings, show
from trueup.errors import TrueupError
from trueup.plan import Item, Kind, Protocol
from trueup.record import Keyboard

if TYPE_CHECKING:
    from trueup.cli.record import Record

_BY_HAND = {
    Kind.TRAIN: "Nothing is to be recorded: the policy is to be trained again, such as with",
    Kind.MEASURE: "This is done by hand; no robot moves. Enter what was measured with",
    Kind.CALIBRATE: "This is done by hand; no robot moves. Enter what was found with",
    Kind.DEMONSTRATIONS: "This is done by a person who drives the robot, with the tool of your "
    "choice, such as LeRobot's teleoperation. Take the result in with",
    Kind.PEOPLE: "This is done with people, each entered by a pseudonym first. Record with",
}
_ENTER = {
    Kind.TRAIN: "trueup narrow {world} --estimate FILE... --gaps GAPS --out space.json\n"
    "  trueup train {world} --from POLICY --space space.json --out tuned",
    Kind.MEASURE: "trueup plan enter {file} --item {item} --measured NAME=VALUE+-ERROR --out "
    "measured.json",
    Kind.CALIBRATE: "trueup plan enter {file} --item {item} --measured NAME=VALUE+-ERROR --out "
    "measured.json",
    Kind.DEMONSTRATIONS: "trueup episodes import SOURCE --mapping FILE --out DATA, or trueup "
    "episodes convert, with the condition as labels",
    Kind.PEOPLE: "trueup record --participant PSEUDONYM --purpose training --motion ... --out DATA",
}


def carry_out(record: Record, file: Path) -> None:
    """Carry out an item: with the robot where it is motions, else by telling what to do."""
    protocol = Protocol.load(file)
    if record.item is None:
        raise TrueupError(
            f"--item is missing: {file} has {len(protocol.items)} items.",
            fix="Give its number; `trueup plan` lists them.",
        )
    _check_alone(record)
    item = protocol.item(record.item)
    if not item.recordable:
        _tell(record, protocol, item, file)
        return
    results = _recorded(record, protocol, item)
    if record.json and record.preview is None:
        show.print_json({"item": item.number, "name": item.name, "recordings": results})


def _check_alone(record: Record) -> None:
    if record.design is not None or record.motion != ("standard",):
        option = "--design" if record.design is not None else "--motion"
        raise TrueupError(
            f"{option} and --protocol both say what to do.", fix="Leave one of them away."
        )


def _tell(record: Record, protocol: Protocol, item: Item, file: Path) -> None:
    enter = _ENTER[item.kind].format(
        world=show.command(protocol.world), file=show.command(file), item=item.number
    )
    if record.json:
        row = protocol.to_json()["items"][item.number - 1]
        show.print_json({"item": row, "by_hand": True, "enter": enter})
        return
    protocols.print_item(protocol, item)
    recordings.say(f"{_BY_HAND[item.kind]}:\n  {enter}")


def _recorded(record: Record, protocol: Protocol, item: Item) -> list[dict[str, Any]]:
    results = []
    for number, condition in _conditions(record, item):
        if condition and record.preview is None and not _set_up(number, condition, item):
            break
        one = _one(record, protocol, item, condition)
        if record.preview is not None:
            one.run()
            break
        result = one.checked_result()
        results.append(result)
        if not record.json:
            recordings.print_result(result)
        if result.get("ended"):
            break
    if not record.json and record.preview is None and item.work.enter:
        command = item.work.enter.replace("DATA", show.command(record.out))
        recordings.say(f"Next: {command}")
    return results


def _conditions(record: Record, item: Item) -> list[tuple[int, Mapping[str, str]]]:
    rows = list(enumerate(item.work.conditions, 1)) or [(0, {})]
    if record.condition is None:
        return rows
    if not 1 <= record.condition <= len(item.work.conditions):
        raise TrueupError(
            f"Item {item.number} has no condition {record.condition}: it has "
            f"{len(item.work.conditions)}.",
            fix="Choose one of those, or leave --condition away.",
        )
    return [rows[record.condition - 1]]


def _set_up(number: int, condition: Mapping[str, str], item: Item) -> bool:
    """Ask the operator to set a condition up; false to end instead."""
    words = ", ".join(f"{factor} {level}" for factor, level in condition.items())
    request = f"Condition {number} of {len(item.work.conditions)}: {words}."
    recordings.say(request)
    with Keyboard(recordings.say) as keys:
        return keys.ready("Set it up.")


def _one(record: Record, protocol: Protocol, item: Item, condition: Mapping[str, str]) -> Record:
    """The recording of one condition, as if it had been asked for by its options."""
    labels = {"protocol": protocol.report_sha256[:12], "item": item.name, **condition}
    words = tuple(f"{name}={word}" for name, word in labels.items())
    changed: dict[str, Any] = {"motion": item.work.motions * item.work.repeats}
    if item.work.design:
        changed = {"design": Path(item.work.design)}
    return replace(
        record,
        protocol=None,
        item=None,
        condition=None,
        world=record.world or protocol.world,
        label=(*record.label, *words),
        **changed,
    )
