"""Who plays: a policy from its folder, or the scripted grasp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.motions import controller, motion_of
from trueup.errors import TrueupError
from trueup.evaluate import Begin, check_fit, piloted
from trueup.policies import LEROBOT, open_policy
from trueup.space import Space
from trueup.worlds import World, get

_SCRIPT = "script"
_SCRIPTED = "so101/lift"
_POLICY = "policy"


@dataclass(frozen=True, kw_only=True)
class Player:
    """Something that can play episodes.

    Attributes:
        name: For people.
        world: The world it is made for.
        begin: How it takes the controls.
        check: Refuses a world that it does not fit.
        trained: The space it was trained in; none where there was none, or nobody knows it.
    """

    name: str
    world: str
    begin: Begin
    check: Callable[[World], object]
    trained: Space | None = None

    def home(self) -> World:
        """The world it is made for."""
        try:
            return get(self.world)
        except TrueupError as error:
            raise TrueupError(
                f"{self.name} was made for the world {self.world!r}, which is not known here.",
                fix="Say where it is with --world FILE.py:CLASS, or choose one of `trueup worlds`.",
            ) from error


def short_names(words: Sequence[str]) -> dict[str, str]:
    """By the address of each policy, a name that tells it from the others: what is not shared.

    One by itself is called by its last folder that is not just `policy`.
    """
    parts = {word: Path(word).resolve().parts if "/" in word else (word,) for word in words}
    longest = max(map(len, parts.values()), default=1)
    for many in range(1, longest + 1):
        names = {word: _last(each, many) for word, each in parts.items()}
        if len(set(names.values())) == len(names):
            return names
    return {word: word for word in words}


def _last(parts: tuple[str, ...], many: int) -> str:
    """So many of the last folders, beside those that only say that it is a policy."""
    kept = parts[:-1] if parts[-1] == _POLICY and len(parts) > 2 else parts
    return "/".join(kept[-many:])


def player(word: str) -> Player:
    """The policy at that address, or the script where the word is `script`."""
    if word == _SCRIPT:
        return Player(
            name=_SCRIPT,
            world=_SCRIPTED,
            begin=lambda worlds: controller(worlds, _SCRIPT),
            check=lambda world: motion_of(world, _SCRIPT),
        )
    policy = open_policy(word)
    return Player(
        name=Path(word).name,
        world=policy.contract.world,
        begin=piloted(policy),
        check=lambda world: check_fit(policy, world),
        trained=None if word.startswith(LEROBOT) else policy.contract.space,
    )
