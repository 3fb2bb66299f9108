"""Where every command begins and ends: which verb, and how errors are told."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from trueup import __version__
from trueup.cli.files import remove_empty
from trueup.cli.verbs import VERBS, Verb
from trueup.errors import TrueupError, UnknownName, suggestion

_MENDABLE, _UNEXPECTED, _STOPPED, _NO_READER = 2, 1, 130, 141
_NO_VERB = ([], ["-h"], ["--help"], ["help"])  # after `trueup help`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 1: a fault of trueup. 2: something the user can mend. 130: stopped by Ctrl-C. 141: the
    reader of the output closed it.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    details = "--traceback" in words
    try:
        code = _run([word for word in words if word != "--traceback"])
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NO_READER
    except KeyboardInterrupt as stop:
        told = f"Stopped by Ctrl-C; files that were not finished are not there. {stop}"
        _tell(told.strip(), details)
        return _STOPPED
    except TrueupError as error:
        _tell(str(error), details)
        return _MENDABLE
    except MemoryError:
        _tell(
            "This needs more memory than there is. Ask for fewer copies (--n, --batch, --worlds).",
            details,
        )
        return _MENDABLE
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _tell(f"The system refused: {error.strerror or error}{where}.", details)
        return _MENDABLE
    except Exception as error:
        again = "" if details else " Run again with --traceback to see where."
        _tell(f"trueup failed unexpectedly: {type(error).__name__}: {error}.{again}", details)
        return _UNEXPECTED
    finally:
        remove_empty()
    return code


def _run(words: list[str]) -> int:
    asked, about = words[:1] == ["help"], words[1:]
    if not words or words[0] in ("-h", "--help") or (asked and about[:1] in _NO_VERB):
        print(overview())
        return 0
    if words[0] in ("-V", "--version"):
        print(f"trueup {__version__}")
        return 0
    verb, options = chosen(about if asked else words)
    try:
        command(verb, ["--help"] if asked else options).run()
    except SystemExit as end:  # tyro's: 0 after help, 2 after a wrong option
        return end.code if isinstance(end.code, int) else _MENDABLE
    return 0


def chosen(words: Sequence[str]) -> tuple[Verb, list[str]]:
    """The verb that the first words name, the longest first, and the words after it."""
    for verb in sorted(VERBS, key=lambda verb: -len(verb.words.split())):
        k = len(verb.words.split())
        if " ".join(words[:k]) == verb.words:
            _refuse_unknown_second_word(verb, words[k:])
            return verb, list(words[k:])
    if words[0].startswith("-"):
        raise TrueupError(
            f"The option {words[0]!r} stands before any verb.",
            fix="Write the verb first: `trueup VERB ... OPTIONS`; `trueup --help` lists the verbs.",
        )
    raise UnknownName(
        "verb", words[0], [verb.words for verb in VERBS], fix="`trueup --help` explains them."
    )


def _refuse_unknown_second_word(verb: Verb, rest: Sequence[str]) -> None:
    longer = [v.words for v in VERBS if v.words.startswith(f"{verb.words} ")]
    if longer and not verb.usage and rest and not rest[0].startswith("-"):
        name = f"{verb.words} {rest[0]}"
        raise TrueupError(
            f"There is no verb {name!r}.",
            fix=f"{suggestion(name, longer)} `trueup --help` explains them.",
        )


def command(verb: Verb, options: Sequence[str]) -> Any:
    """The verb's dataclass, filled from the options; --help and wrong options end here."""
    import tyro

    kind = getattr(importlib.import_module(f"trueup.cli.{verb.module}"), verb.command)
    return tyro.cli(
        kind,
        prog=f"trueup {verb.words}",
        args=list(options),
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def overview() -> str:
    """What `trueup --help` prints."""
    heads = [f"{verb.words} {verb.usage}".strip() for verb in VERBS]
    width = max(map(len, heads))
    verbs = "\n".join(
        f"  {head:{width}}  {verb.summary}" for head, verb in zip(heads, VERBS, strict=True)
    )
    return _OVERVIEW.format(verbs=verbs)


_OVERVIEW = """\
trueup makes the sim-to-real gap an engineering quantity: measured, attributed, closed.

A *world* is a robot, a scene and a task. Its *space* is every number it may have
wrong, each with unit, bounds and source, sorted by *gap*: contact, visual,
sensing, object, environment, human, actuation, latency. A *point* of the space
is one possible world, and whatever runs here runs at points.

usage: trueup VERB [ARGUMENTS] [OPTIONS]

{verbs}

WORLD is a name from `trueup worlds`, or your own as FILE.py:CLASS (FILE.py where it
holds one world).

options:
  --help       explain the verb and its options; so does `trueup help VERB`
  --json       print JSON on stdout and nothing else (verbs that print a table: all but
               worlds picture and worlds video)
  --out        where to write (verbs that write); files appear whole or not at all
  --traceback  show where an error came from

examples:
  trueup demo
  trueup worlds show so101/lift
  trueup space so101/lift --select latency 'actuation/*/damping'
  trueup simulate so101/lift --n 4096 --select latency
  trueup worlds video so101/lift --out lift.mp4
  trueup train so101/reach
  trueup evaluate out/train/so101-reach-0/policy --points 10000

exit codes: 0 done, 1 a fault of trueup, 2 something you can mend, 130 stopped by Ctrl-C,
141 the reader of the output closed it, as `head` does"""


def _tell(sentence: str, details: bool) -> None:
    if details:
        import traceback

        traceback.print_exc()
    red = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"\033[31m{sentence}\033[0m" if red else sentence, file=sys.stderr)
