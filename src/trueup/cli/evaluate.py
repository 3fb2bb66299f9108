"""`trueup evaluate`: a policy in many worlds, how often it works and where it fails."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from trueup.cli import outcomes, show
from trueup.cli.copies import Copies, check_positive, check_threads, control_steps, drawn
from trueup.cli.files import check_distinct, writable_folder, write_text
from trueup.cli.options import Chosen, CopyCount, Count, Machine, OneWorld
from trueup.cli.pictures import filmed, first_camera, frame_rate
from trueup.cli.players import Player, player
from trueup.cli.simulate import peak_memory_mib
from trueup.errors import TrueupError
from trueup.evaluate import (
    Begin,
    Evaluation,
    Slice,
    compared,
    described,
    evaluate,
    save_chart,
    save_drawing,
    slices,
)
from trueup.randomize import coverage
from trueup.simulate import Camera, save_video
from trueup.space import Space
from trueup.versions import versions
from trueup.worlds import World

_FILMED = 9
_WIDTH, _HEIGHT = 400, 300
_OUT = Path("out/evaluate")


@dataclass(frozen=True, kw_only=True)
class Evaluate(Chosen, Machine):
    """Play a policy in many worlds: how often it works, where it fails.

    Each episode runs at its own point of the space, to its own end. Success comes with its
    interval, failures with the command that shows each again. The result is sim-to-sim.

    trueup evaluate script --points 1000
    """

    policy: Annotated[Positional[str], arg(metavar="POLICY")]
    """A policy's folder; lerobot:FOLDER[@DATASET] for a checkpoint of LeRobot; or the word script:
    the scripted grasp, which knows the nominal world."""
    points: CopyCount = 1000
    """How many episodes; episode I of a seed is the same whatever N is; --only runs it alone."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """By default the one that the policy was trained in."""
    nominal: bool = False
    """Put every episode at the nominal point; only their starts differ."""
    against: Annotated[str | None, arg(metavar="POLICY")] = None
    """Play the same episodes with this policy too, and compare the two in pairs."""
    video: Annotated[str | None, arg(metavar="WHICH")] = None
    """Film failures or successes, up to 9 of them, or the first N episodes, as a mosaic."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write evaluation.npz, result.json, failures.csv, slices.html and slices.png here; by default
    out/evaluate where there is a --video, and else nothing."""
    batch: Count = 1024
    """Worlds that are stepped together, which bounds memory; results do not depend on it."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Play, then say what happened."""
        self._check()
        first = player(self.policy)
        second = None if self.against is None else player(self.against)
        world = OneWorld(world=self.world).opened_world() if self.world else first.home()
        for who in filter(None, (first, second)):
            who.check(world)
        copies = drawn(world, self, self.points, nominal=self.nominal)
        evaluation, run_s = self._played(first, copies)
        found = [] if len(copies) == 1 else slices(evaluation, copies.space)
        result = self._result(copies, evaluation, found, run_s)
        if first.trained is not None:
            result["coverage"] = _coverage(first.trained, copies)
        if second is not None:
            result["against"] = self._compared(second, copies, evaluation)
        if self._folder:
            self._write(self._folder, result, copies, evaluation, found)
        if self.json:
            show.print_json(result)
        else:
            outcomes.print_result(result)
        if self.video:
            self._film(first, copies, evaluation)

    def _check(self) -> None:
        check_positive("--points", self.points)
        check_positive("--batch", self.batch)
        check_threads(self.threads)
        if self.video is not None:
            _filmed_count(self.video)
        if self._folder:
            files: dict[str, Path | None]
            files = {f"--out ({name})": self._folder / name for name in outcomes.FILES}
            check_distinct(read={"--space": self.space, "--point": self.point}, written=files)
            writable_folder(self._folder)

    @property
    def _folder(self) -> Path | None:
        return _OUT if self.out is None and self.video else self.out

    def _played(self, who: Player, copies: Copies) -> tuple[Evaluation, float]:
        started = perf_counter()
        with show.progress(
            f"{who.name} in {len(copies):,} × {copies.world.name}", len(copies), quiet=self.json
        ) as advance:
            evaluation = evaluate(
                copies.world,
                who.begin,
                copies.points,
                copies.seeds,
                batch=self.batch,
                threads=self.threads,
                on_progress=advance,
            )
        return evaluation, perf_counter() - started

    def _result(
        self, copies: Copies, evaluation: Evaluation, found: list[Slice], run_s: float
    ) -> dict[str, Any]:
        steps = int(evaluation.steps.sum())
        return {
            "label": "sim-to-sim",
            "policy": self.policy,
            "world": copies.world.name,
            "which": self._which(copies),
            "seed": self.seed,
            **outcomes.counted(evaluation, copies.rows),
            "slices": [outcomes.sliced(s) for s in found],
            "where": described(found, evaluation) if found else [],
            "failures": [
                {
                    "episode": int(copies.rows[failure.episode]),
                    "end": failure.end,
                    "seed": failure.seed,
                    "replay": self._replay(int(copies.rows[failure.episode])),
                }
                for failure in evaluation.failures
            ],
            "speed": {
                "episodes_per_s": len(evaluation) / run_s,
                "control_steps_per_s": steps / run_s,
                "times_real_time": steps * copies.world.control_period_s / run_s,
                "run_s": run_s,
            },
            "peak_memory_mib": peak_memory_mib(),
            "configuration": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in vars(self).items()
            },
            "versions": versions(),
        }

    def _which(self, copies: Copies) -> str:
        many = f"{len(copies):,} episodes" if self.only is None else f"episode {self.only}"
        if self.nominal:
            return f"{many} in the nominal world"
        if self.point:
            return f"{many} at the point {self.point}"
        free = len(copies.space.free)
        return f"{many}, each at its own point of {free} parameters"

    def _replay(self, episode: int) -> str:
        words = ["trueup", "evaluate", self.policy, *self.again(episode)]
        words += [f"--world={self.world}"] if self.world else []
        words += ["--nominal"] if self.nominal else []
        return shlex.join([*words, "--video", "1", f"--out=episode{episode}"])

    def _compared(self, who: Player, copies: Copies, ours: Evaluation) -> dict[str, Any]:
        theirs, _ = self._played(who, copies)
        comparison = compared(ours, theirs)
        if self._folder:
            theirs.save(self._folder / "against.npz")
        return {
            "policy": self.against,
            **outcomes.counted(theirs, copies.rows),
            "difference": comparison.difference,
            "interval_95": list(comparison.interval()),
            "p_value": comparison.p_value,
            "both": comparison.both,
            "only_first": comparison.only_a,
            "only_second": comparison.only_b,
            "neither": comparison.neither,
            "still_needed": comparison.still_needed,
            "words": comparison.words(self.policy, str(self.against)),
        }

    def _write(
        self,
        folder: Path,
        result: dict[str, Any],
        copies: Copies,
        evaluation: Evaluation,
        found: list[Slice],
    ) -> None:
        evaluation.save(folder / "evaluation.npz")
        outcomes.write_failures(folder / "failures.csv", evaluation, copies.rows)
        files = ["evaluation.npz", "failures.csv"] + ["against.npz"] * ("against" in result)
        if found:
            save_chart(found, evaluation, folder / "slices.html")
            save_drawing(found, evaluation, folder / "slices.png")
            files += ["slices.html", "slices.png"]
        result["files"] = [str(folder / name) for name in [*files, "result.json"]]
        write_text(folder / "result.json", show.as_json(result) + "\n")

    def _film(self, who: Player, copies: Copies, evaluation: Evaluation) -> None:
        assert self.video is not None and self._folder is not None
        chosen = _filmed_rows(self.video, evaluation)
        if not len(chosen):
            self._tell(f"No video: no episode is among the {self.video}.")
            return
        name = self.video if self.video in _KINDS else "episodes"
        file = self._folder / f"{name}.mp4"
        film(who.begin, copies.some(chosen), file, quiet=self.json)
        shown = ", ".join(str(row) for row in copies.rows[chosen])
        self._tell(f"{file}: episode{'s' if len(chosen) > 1 else ''} {shown}")

    def _tell(self, sentence: str) -> None:
        if not self.json:
            print(sentence)


def _coverage(trained: Space, copies: Copies) -> dict[str, Any]:
    """Whether the policy was trained for the worlds that it was played in."""
    answer = coverage(trained, copies.points, catalogue=copies.world.catalogue)
    return {"verdict": answer.verdict, "words": str(answer)}


_KINDS: dict[str, Callable[[Evaluation], np.ndarray]] = {
    "failures": lambda evaluation: ~evaluation.success,
    "successes": lambda evaluation: evaluation.success,
}


def _filmed_count(video: str) -> int:
    if video in _KINDS:
        return _FILMED
    if not (video.isdecimal() and 1 <= int(video) <= _FILMED):
        raise TrueupError(
            f"--video is {video!r}.",
            fix=f"Give failures, successes, or how many episodes to film, from 1 to {_FILMED}.",
        )
    return int(video)


def _filmed_rows(video: str, evaluation: Evaluation) -> np.ndarray:
    rows = np.arange(len(evaluation))
    if video in _KINDS:
        rows = np.flatnonzero(_KINDS[video](evaluation))
    return rows[: _filmed_count(video)]


def film(begin: Begin, copies: Copies, file: Path, *, quiet: bool) -> None:
    """A mosaic of whole episodes, played again."""
    world: World = copies.world
    worlds, steps = copies.opened(), control_steps(world, None)
    with (
        Camera(worlds, camera=first_camera(world), width=_WIDTH, height=_HEIGHT) as camera,
        show.progress(str(file), steps, quiet=quiet) as advance,
    ):
        frames = filmed(worlds, camera, begin(worlds), steps, advance)
        save_video(frames, file, fps=frame_rate(world))
