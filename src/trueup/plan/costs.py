"""What an action costs, in minutes of the robot and of people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError, UnknownName
from trueup.plan.action import Action


@dataclass(frozen=True, kw_only=True)
class Costs:
    """How long things take in one laboratory. Ours are a start: give your own with --costs.

    Attributes:
        motion_s: Seconds of the robot by name of a motion, ways included.
        other_motion_s: Of one that is not listed.
        reset_s: Putting things back between two recordings.
        start_minutes: Before the first recording of a session.
        condition_minutes: Changing light, clutter or the like.
        demonstration_minutes: One demonstration, with reset.
        participant_minutes: Welcome and briefing of one person.
        trial_minutes: One trial of a policy, with reset.
    """

    motion_s: Mapping[str, float]
    other_motion_s: float
    reset_s: float
    start_minutes: float
    condition_minutes: float
    demonstration_minutes: float
    participant_minutes: float
    trial_minutes: float

    def minutes(self, action: Action) -> float:
        """Of the robot and by hand."""
        return self.robot_minutes(action) + action.hand_minutes

    def robot_minutes(self, action: Action) -> float:
        """How long the robot is taken up."""
        conditions = len(action.conditions)
        rows = max(conditions, 1)
        recorded = sum(self.motion_s.get(m, self.other_motion_s) for m in action.motions)
        recorded += self.reset_s * len(action.motions)
        minutes = recorded * action.repeats * rows / 60.0
        minutes += self.demonstration_minutes * action.demonstrations_in(conditions)
        minutes += self.participant_minutes * rows if action.with_people else 0.0
        minutes += self.condition_minutes * conditions if not action.with_people else 0.0
        return minutes + (self.start_minutes if minutes else 0.0)

    def to_json(self) -> dict[str, Any]:
        """As a file holds it."""
        return asdict(self)

    @staticmethod
    def usual() -> Costs:
        """Ours: motions as planned for an SO-101, the rest by judgement."""
        text = (resources.files("trueup.plan") / "costs.json").read_text(encoding="utf-8")
        return Costs(**json.loads(text))

    @staticmethod
    def load(path: Path | str) -> Costs:
        """Ours, with what a JSON file says instead."""
        path = Path(path)
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise TrueupError(
                f"The costs in {path} could not be read: {error}.",
                fix='Give a JSON object such as {"demonstration_minutes": 2}.',
            ) from error
        return Costs.usual().with_(given, str(path))

    def with_(self, given: Any, where: str) -> Costs:
        """The same, with some numbers replaced."""
        if not isinstance(given, dict):
            raise TrueupError(f"{where} holds no costs.", fix="Give a JSON object of minutes.")
        known = {f.name for f in fields(self)}
        for name in given:
            if name not in known:
                raise UnknownName(f"cost in {where}", name, sorted(known))
        motions = given.get("motion_s", {})
        numbers = {f"motion_s/{m}": s for m, s in dict(motions).items()}
        numbers |= {name: value for name, value in given.items() if name != "motion_s"}
        for name, value in numbers.items():
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not 0 <= value < 1e6
            ):
                raise TrueupError(
                    f"The cost {name!r} in {where} is {value!r}.", fix="Give a number from 0 up."
                )
        merged = {**asdict(self), **given, "motion_s": {**self.motion_s, **motions}}
        return Costs(**merged)
