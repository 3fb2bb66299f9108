"""`provenance.json`: where a policy comes from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a policy was made, for people; nothing here changes what it does.

    Attributes:
        created: When, UTC.
        method: How: "ppo", ...
        seed: The seed it was trained with.
        steps: Control steps it learned from.
        wall_s: Time that took, s.
        configuration: Every setting.
        versions: Of the packages that made it.
        outcome: What was measured at the end, if anything was.
        parent: The provenance of the policy it was tuned from, if any.
        files: SHA-256 and size of the other files of its folder.
    """

    created: str
    method: str
    seed: int
    steps: int
    wall_s: FiniteFloat
    configuration: dict[str, Any]
    versions: dict[str, str]
    outcome: dict[str, Any] = field(default_factory=dict)
    parent: dict[str, Any] | None = None
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of `provenance.json`."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str = "the provenance") -> Provenance:
        """Read the text of a `provenance.json`."""
        try:
            return _ADAPTER.validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise TrueupError(
                f"{where} is not a policy's provenance: {place + ': ' if place else ''}"
                f"{first['msg']}.",
                fix="Take the whole policy folder again from where it was trained.",
            ) from error


_ADAPTER = TypeAdapter(Provenance)
