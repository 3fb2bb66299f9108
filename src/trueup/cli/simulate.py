"""`trueup simulate`: many copies of a world, how fast and how well."""

from __future__ import annotations

import resource
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import Copies, Outcome, check_threads, control_steps, drawn, played, rounded
from trueup.cli.files import check_distinct, writable_file, write_text
from trueup.cli.motions import Motion, controller, described_motion, motion_of
from trueup.cli.options import Chosen, CopyCount, Count, File, Machine, OneWorld, Seconds
from trueup.evaluate import wilson
from trueup.versions import versions

_SHOWN = 5  # divergences


@dataclass(frozen=True, kw_only=True)
class Simulate(OneWorld, Chosen, Machine):
    """Step many randomized copies: how fast, how often it works.

    Each copy runs one episode at its own point of the space. Nothing is learned here: a script, a
    gentle random motion or nothing moves the robot. The share of successes is sim-to-sim.

    trueup simulate so101/lift --select latency --n 4096
    """

    n: CopyCount = 1024
    """How many copies; copy I of a seed is the same whatever N is, and --only runs it alone."""
    seconds: Seconds = None
    """Simulated time, rounded to whole control steps; one episode by default."""
    actions: Motion = "auto"
    """What moves the robot; auto: the scripted grasp where that is the task, else random."""
    nominal: bool = False
    """Put every copy at the nominal point; only their starts differ."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""
    record: Annotated[Path | None, arg(metavar="FILE.npz")] = None
    """Write every signal of every step here, for numpy.load."""
    out: File = None
    """Write the result here as JSON, with the configuration and versions that gave it."""

    def run(self) -> None:
        """Step, then say what happened."""
        self._check()
        world = self.opened_world()
        steps = control_steps(world, self.seconds)
        motion = motion_of(world, self.actions)
        copies = drawn(world, self, self.n, nominal=self.nominal)
        started = perf_counter()
        worlds = copies.opened(threads=self.threads)
        move = controller(worlds, motion)
        set_up_s = perf_counter() - started
        signals = (*world.observations, *world.privileged) if self.record else ()
        with show.progress(f"{len(copies):,} × {self.world}", steps, quiet=self.json) as advance:
            outcome = played(
                worlds,
                move,
                steps,
                record=tuple(signal.name for signal in signals),
                on_step=advance,
            )
        result = self._result(copies, outcome, motion, set_up_s)
        if self.record:
            outcome.trajectory.save(self.record)
        if self.out:
            write_text(self.out, show.as_json(result) + "\n")
        if self.json:
            show.print_json(result)
        else:
            self._print(result, rounded(world, self.seconds))

    def _check(self) -> None:
        check_threads(self.threads)
        check_distinct(
            read={"WORLD": self.world_file, "--space": self.space, "--point": self.point},
            written={"--record": self.record, "--out": self.out},
        )
        if self.record:
            writable_file(self.record, ".npz")
        if self.out:
            writable_file(self.out)

    def _result(
        self, copies: Copies, outcome: Outcome, motion: Motion, set_up_s: float
    ) -> dict[str, Any]:
        world, n = copies.world, outcome.n
        taken = n * outcome.steps
        cut_short = outcome.steps < control_steps(world, None)
        return {
            "world": self.world,
            "copies": n,
            "simulated_s": outcome.steps * world.control_period_s,
            "actions": motion,
            "moved_by": described_motion(world, motion),
            "seed": self.seed,
            "randomized": {gap.value: len(part) for gap, part in copies.space.by_gap().items()}
            if not (self.nominal or self.point)
            else {},
            "episodes": _episodes(outcome, cut_short=cut_short),
            "speed": {
                "control_steps_per_s": taken / outcome.run_s,
                "physics_steps_per_s": taken * world.substeps / outcome.run_s,
                "times_real_time": taken * world.control_period_s / outcome.run_s,
                "run_s": outcome.run_s,
                "set_up_s": set_up_s,
            },
            "peak_memory_mib": peak_memory_mib(),
            "divergences": [
                {
                    "copy": int(copies.rows[d.world]),
                    "seed": d.seed,
                    "time_s": d.time_s,
                    "reason": d.reason,
                    "point": dict(d.point),
                    "replay": self._replay(int(copies.rows[d.world])),
                }
                for d in outcome.divergences
            ],
            "configuration": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in vars(self).items()
            },
            "versions": versions(),
        }

    def _replay(self, copy: int) -> str:
        words = ["trueup", "simulate", self.world, *self.again(copy)]
        words += [f"--seconds={self.seconds}"] if self.seconds else []
        words += ["--nominal"] if self.nominal else []
        return shlex.join([*words, "--actions", self.actions])

    def _print(self, result: dict[str, Any], rounding: str) -> None:
        out, speed, episodes = show.console(), result["speed"], result["episodes"]
        rows = show.table("what", "value", keep=("what",))
        rows.show_header = False
        ended = [f"{episodes[key]:,} {word}" for key, word in _ENDS if episodes[key]]
        for name, text in (
            ("world", f"{self.world}, {_which(self, result)}"),
            ("moved by", result["moved_by"]),
            ("simulated", f"{show.number(result['simulated_s'])} s each{rounding}"),
            ("success", show.percent(episodes["success"], result["copies"])),
            ("the rest", ", ".join(ended) or "none"),
            (
                "speed",
                f"{show.number(speed['control_steps_per_s'])} control steps/s, "
                f"{show.number(speed['times_real_time'])} × real time "
                f"({show.number(speed['run_s'])} s, and {show.number(speed['set_up_s'])} s to set "
                "up)",
            ),
            ("memory", f"{show.number(result['peak_memory_mib'])} MiB at most"),
        ):
            rows.add_row(f"[bold]{name}[/bold]", text)
        out.print(rows)
        for d in result["divergences"][:_SHOWN]:
            out.print(
                f"Copy {d['copy']} (seed {d['seed']}) diverged at {d['time_s']:.2f} s: "
                f"{d['reason']}.\n  again: {d['replay']}",
                markup=False,
                soft_wrap=True,  # a command to copy is not broken into lines
            )
        if (more := len(result["divergences"]) - _SHOWN) > 0:
            out.print(f"… and {more:,} more; --json lists them all.")
        for path in filter(None, (self.record, self.out)):
            out.print(f"Written: {path}", markup=False, soft_wrap=True)


_ENDS = (
    ("failure", "failed"),
    ("timeout", "ran out of time"),
    ("unfinished", "not over yet"),
    ("diverged", "diverged"),
)


def _episodes(outcome: Outcome, *, cut_short: bool) -> dict[str, Any]:
    """How many episodes ended in which way; each counts once."""
    trajectory = outcome.trajectory
    good, diverged = trajectory.success, trajectory.diverged & ~trajectory.success
    lost = outcome.lost & ~diverged & ~good
    rest = ~(good | diverged | lost)
    # a copy whose clock runs late has not timed out yet when a whole episode was played
    waiting = rest & (trajectory.end < 0) if cut_short else np.zeros_like(rest)
    return {
        "success": int(good.sum()),
        "success_share": float(good.mean()),
        "success_interval_95": list(wilson(outcome.successes, outcome.n)),
        "failure": int(lost.sum()),
        "timeout": int((rest & ~waiting).sum()),
        "unfinished": int(waiting.sum()),
        "diverged": int(diverged.sum()),
    }


def _which(options: Simulate, result: dict[str, Any]) -> str:
    """Which copies, and where in the space."""
    n, count = result["copies"], sum(result["randomized"].values())
    if options.only is not None:
        copies, each, whole = f"copy {options.only} of seed {options.seed}", "", ""
    elif n == 1:
        copies, each, whole = "1 copy", "", ""
    else:
        copies, each, whole = f"{n:,} copies", "each ", "all "
    if options.nominal:
        return f"{copies}, {whole}nominal"
    if options.point:
        return f"{copies}, {whole}at the point {options.point}"
    return f"{copies}, {each}at its own point of {count} parameters"


def peak_memory_mib() -> float:
    """The most memory this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
