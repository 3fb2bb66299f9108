"""`trueup train --from-episodes`: what it asks of learning by imitation, and what it says."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trueup.cli import people, show
from trueup.episodes import Dataset, JointUnits
from trueup.episodes.consent import Covered
from trueup.errors import TrueupError
from trueup.train.imitation import Cloned, Cotrained, Portion, Progress


def portions(
    datasets: Sequence[Path],
    weights: Sequence[float],
    read_as: JointUnits | None,
    participants: Path,
) -> list[Portion]:
    """Datasets with their weights, as they were given, less what consent does not cover."""
    if weights and len(weights) != len(datasets):
        raise TrueupError(
            f"--weights has {len(weights)} numbers for {len(datasets)} datasets.",
            fix="Give one for each, or leave it out to draw every frame as often.",
        )
    given = list(weights) or [None] * len(datasets)
    return [
        Portion(
            dataset=dataset,
            weight=weight,
            read_as=read_as,
            refused={} if (found := _covered(dataset, participants)) is None else found.why,
        )
        for dataset, weight in zip(datasets, given, strict=True)
    ]


def _covered(dataset: Path, participants: Path) -> Covered | None:
    return people.trained_on(Dataset.open(dataset), participants)


def check_two(given: Sequence[Portion], weights: Sequence[float]) -> None:
    """Refuse to choose between anything but one dataset of the robot and one from simulation."""
    if len(given) != 2 or weights:
        what = "--weights gives them" if weights else f"there are {len(given)} datasets"
        raise TrueupError(
            f"--choose-weight chooses weights of two datasets, but {what}.",
            fix="Give the robot's dataset, then the simulated one, and no --weights.",
        )


def teller(*, quiet: bool) -> Callable[[Progress], None]:
    """What says where learning stands: on a terminal it is one line that is rewritten."""

    def tell(progress: Progress) -> None:
        line = as_line(progress)
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            end = "\n" if progress.step == progress.steps else ""
            print(f"\r{line[:width]:<{width}}", end=end, file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    return (lambda progress: None) if quiet else tell


def as_line(progress: Progress) -> str:
    """Steps, errors and time left."""
    minutes, seconds = divmod(round(progress.left_s), 60)
    return (
        f"step {progress.step:,} of {progress.steps:,}: error {progress.error:.4f}, "
        f"{progress.held_out:.4f} on held-out episodes; {minutes}:{seconds:02d} left at most"
    )


def result(found: Cloned | Cotrained) -> dict[str, Any]:
    """For programs."""
    if isinstance(found, Cotrained):
        played = {"before": found.before, "after": found.after}
        return {
            **result(found.cloned),
            "weight": found.weight,
            "held_out_error_by_weight": {f"{w:g}": error for w, error in found.errors.items()},
            "simulated": {name: s.to_json() for name, s in played.items() if s is not None},
        }
    cloned = found
    return {
        "label": "sim-to-sim",
        "policy": cloned.policy.name,
        "ended": cloned.why,
        "steps": cloned.steps,
        "wall_s": cloned.wall_s,
        "held_out_error": cloned.error,
        "demonstrations": cloned.demonstrations,
        "passed_over": cloned.passed_over,
        "observations": [f.name for f in cloned.policy.contract.interface.observations],
        "commands_clipped": cloned.clipped,
        "success": {name: success.to_json() for name, success in cloned.success.items()},
    }


_WHY = {
    "steps": "all steps are done",
    "patience": "the held-out episodes got no better",
    "interrupted": "interrupted; go on with --resume",
}
_CLIPPED = 0.01


def print_cloned(found: Cloned | Cotrained, world: str) -> None:
    """What came of it, as a table."""
    cloned = found.cloned if isinstance(found, Cotrained) else found
    contract = cloned.policy.contract
    facts = {
        "world": world,
        "ended": _WHY[cloned.why],
        "learned from": "; ".join(
            f"{n:,} demonstrations in {name}{_passed_over(cloned.passed_over[name])}"
            for name, n in cloned.demonstrations.items()
        ),
        "reads": ", ".join(feature.name for feature in contract.interface.observations),
        "learning": f"{cloned.steps:,} steps in {cloned.wall_s:,.0f} s; error "
        f"{cloned.error:.4f} on held-out episodes",
    }
    if cloned.clipped > _CLIPPED:
        facts["clipped"] = (
            f"{cloned.clipped:.1%} of the commands were further from their joint than a servo "
            "of this world pulls"
        )
    for name, success in cloned.success.items():
        facts[f"success, {name}"] = f"{success} on {success.n:,} fresh episodes, sim-to-sim"
    if isinstance(found, Cotrained):
        facts |= _cotrained(found)
    facts["policy"] = cloned.policy.name
    show.print_facts(facts)
    words = ("trueup", "evaluate", cloned.policy.name, "--points", 10000)
    show.say(f"\nNext: {show.command(*words)}")


def _cotrained(found: Cotrained) -> dict[str, str]:
    tried = ", ".join(f"{error:.4f} with {w:g}" for w, error in found.errors.items())
    told = {"from the robot": f"{found.weight:.0%} of what it learned; held-out error {tried}"}
    if found.before is not None and found.after is not None:
        told["kept"] = f"{found.before} in the simulated world before, {found.after} after"
    return told


def _passed_over(counts: dict[str, int]) -> str:
    if not counts:
        return ""
    reasons = ", ".join(f"{count} {why}" for why, count in counts.items())
    return f" (passed over: {reasons})"
