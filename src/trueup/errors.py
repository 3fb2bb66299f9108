"""The root error, and the shape of a message: what failed, where, what was there, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrueupError(Exception):
    """Anything a user can mend, told in sentences.

    The command line prints the message and exits with code 2; `--traceback` shows the rest.
    Subclasses take the objects involved and write their own sentences.

    Args:
        what: What failed, where, and what was there instead. Full sentences.
        fix: What to do next, as one sentence; left out only where nothing can be done.
    """

    def __init__(self, what: str, *, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what} {fix}".strip())

    def __reduce__(self):
        # subclasses take objects, not the message, so the default would call them wrongly
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[TrueupError], args: tuple, state: dict) -> TrueupError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UnknownName(TrueupError):
    """A name that nobody answers to; offers the nearest ones that exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, fix: str = "") -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(
            f"There is no {kind} named {name!r}.", fix=f"{suggestion(name, self.known)} {fix}"
        )


def suggestion(name: str, known: Iterable[str], *, shown: int = 5) -> str:
    """The sentence that offers names close to `name`, or lists what there is."""
    names = list(known)
    kin = _kin(name, names)
    close = [] if kin else difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if not close and not kin:  # a wrong prefix hides a right ending: compare the last segments too
        tails = {n.rsplit("/", 1)[-1]: n for n in names}
        hits = difflib.get_close_matches(name.rsplit("/", 1)[-1], list(tails), n=3, cutoff=0.6)
        close = [tails[hit] for hit in hits]
    if close:
        return f"Did you mean {_or(close)}?"
    if not names:
        return "None exist yet."
    names = kin or names
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"Known: {', '.join(names[:shown])}{more}."


def _kin(name: str, names: list[str]) -> list[str]:
    """Names that share their beginning with `name` and nothing else, where there are many.

    All of them are alike to it then, and to choose three would hide the others.
    """
    head, slash, tail = name.rpartition("/")
    kin = [n for n in names if slash and n.rpartition("/")[0] == head]
    ends = [n.rpartition("/")[2] for n in kin]
    alike = len(kin) > 3 and not difflib.get_close_matches(tail, ends, cutoff=0.5)
    return kin if alike else []


def _or(names: list[str]) -> str:
    quoted = [repr(str(name)) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
