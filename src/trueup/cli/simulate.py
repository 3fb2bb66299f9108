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
from trueup.cli.chance import wilson
from trueup.cli.copies import Copies, Outcome, control_steps, drawn, played
from trueup.cli.files import writable_file, write_text
from trueup.cli.motions import Motion, controller, motion_of
from trueup.cli.options import Chosen, Count, File, Machine, OneWorld, Seconds
from trueup.cli.versions import versions
from trueup.errors import TrueupError
from trueup.worlds import get

_SHOWN = 5  # divergences


@dataclass(frozen=True, kw_only=True)
class Simulate(OneWorld, Chosen, Machine):
    """Step many randomized copies: how fast, how often it works.

    Each copy runs one episode at its own point of the space. Nothing is learned here: a script, a
    gentle random motion or nothing moves the robot. The share of successes is sim-to-sim.

    trueup simulate so101/lift --select latency --n 4096
    """

    n: Count = 1024
    """How many copies."""
    seconds: Seconds = None
    """Simulated time; one episode by default."""
    actions: Motion = "auto"
    """What moves the robot; auto: the scripted grasp where the world has a cube, else random."""
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
        world = get(self.world)
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
            self._print(result)

    def _check(self) -> None:
        if self.threads < 0:
            raise TrueupError(f"--threads is {self.threads}.", fix="Give 0 for all, or a count.")
        if self.record:
            writable_file(self.record, ".npz")
        if self.out:
            writable_file(self.out)

    def _result(
        self, copies: Copies, outcome: Outcome, motion: str, set_up_s: float
    ) -> dict[str, Any]:
        world, n = copies.world, outcome.n
        taken = n * outcome.steps
        cut_short = self.seconds is not None and self.seconds < world.episode_s
        return {
            "world": self.world,
            "copies": n,
            "simulated_s": outcome.steps * world.control_period_s,
            "actions": motion,
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
        words = ["trueup", "simulate", self.world, "--only", str(copy), "--seed", str(self.seed)]
        words += ["--select", *self.select] if self.select else []
        words += [f"--{o}={v}" for o in ("space", "point", "seconds") if (v := getattr(self, o))]
        words += ["--nominal"] if self.nominal else []
        return shlex.join([*words, "--actions", self.actions])

    def _print(self, result: dict[str, Any]) -> None:
        out, speed, episodes = show.console(), result["speed"], result["episodes"]
        rows = show.table("what", "value", keep=("what",))
        rows.show_header = False
        ended = [f"{episodes[key]:,} {word}" for key, word in _ENDS if episodes[key]]
        for name, text in (
            ("world", f"{self.world}, {result['copies']:,} copies, {_differing(self, result)}"),
            ("moved by", _MOTIONS[result["actions"]]),
            ("simulated", f"{show.number(result['simulated_s'])} s each"),
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
_MOTIONS = {
    "hold": "nothing: the servos hold where they start",
    "random": "a gentle random motion",
    "script": "a scripted grasp that knows the nominal world only",
}


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


def _differing(options: Simulate, result: dict[str, Any]) -> str:
    if options.nominal:
        return "all nominal"
    if options.point:
        return f"all at the point {options.point}"
    count = sum(result["randomized"].values())
    return f"each at its own point of {count} parameters"


def peak_memory_mib() -> float:
    """The most memory this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
