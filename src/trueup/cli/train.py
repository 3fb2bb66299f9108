"""`trueup train`: a policy from reward, in many randomized worlds, or from demonstrations."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from tyro.conf import arg

from trueup.cli import cloning, show
from trueup.cli.copies import asked, check_seed, check_threads
from trueup.cli.files import check_distinct, writable_folder
from trueup.cli.options import Count, File, Machine, OneWorld, Patterns
from trueup.episodes import JointUnits
from trueup.errors import TrueupError
from trueup.identify.residual import LearnedResidual
from trueup.policies import Policy
from trueup.randomize import plan_named
from trueup.space import Space
from trueup.train import Progress, Run, Settings, Trained
from trueup.train.imitation import Cloning, clone, cotrain, one_step
from trueup.train.run import SPACE
from trueup.worlds import World

_OUT = Path("out/train")
_DEFAULTS, _CLONING = Settings(), Cloning()
_TUNING = 1500  # steps of learning that a policy which knows the task needs
_FROM_REWARD = (
    "plan",
    "select",
    "space",
    "residual",
    "nominal",
    "no_expert",
    "target",
    "target_nominal",
    "worlds",
)
_FROM_EPISODES = ("weights", "choose_weight", "read_as", "participants", "chunk")
_LINE_EVERY_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Train(OneWorld, Machine):
    """Train a policy in randomized copies of a world.

    PPO, on all cores. Training stops once the lower end of the interval of its success reaches the
    target, or when the steps are used up. Ctrl-C saves a policy that can be used and a checkpoint
    to go on from. Success here is sim-to-sim. With --from-episodes the policy is cloned from
    demonstrations instead.

    trueup train so101/reach
    """

    from_episodes: Annotated[tuple[Path, ...], arg(metavar="DATASET...")] = ()
    """Learn from the demonstrations in these datasets, ours or LeRobot's of the same robot."""
    weights: Annotated[tuple[float, ...], arg(metavar="W...")] = ()
    """How often each of these datasets is drawn from; by default every frame is drawn as often."""
    choose_weight: bool = False
    """The first dataset is the robot's, the second simulated: choose how often each is drawn from
    by what does best on episodes of the robot that are held out."""
    chunk: Count = _CLONING.chunk
    """Control steps that a cloned policy answers ahead; 1 is plain behaviour cloning."""
    read_as: Annotated[JointUnits | None, arg(metavar="UNITS")] = None
    """Units of the joints, where a dataset does not state them: rad, degrees or normalized."""
    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The register of participants: episodes of people who did not agree to training are passed
    over."""

    plan: Annotated[str, arg(metavar="PLAN")] = "prior"
    """How points are drawn: prior, sobol, lhs, or a curriculum: automatic, entropy."""
    select: Patterns = ()
    """Randomize these parameters only, e.g. latency or 'actuation/*/damping'; the rest stays
    nominal. By default: everything `trueup space WORLD` lists."""
    space: File = None
    """Draw from this space, as `trueup space WORLD --out FILE` writes it."""
    residual: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Add what `trueup identify residual` learnt to the world's servos; how much of it each copy
    has is randomized, too."""
    nominal: bool = False
    """Randomize nothing."""
    start: Annotated[Path | None, arg(name="from", metavar="POLICY")] = None
    """Begin from this policy instead of from nothing, e.g. to tune it in another space."""
    no_expert: bool = False
    """Begin with nothing, also where lessons of a scripted expert of the world would come first."""
    steps: Annotated[float | None, arg(metavar="N")] = None
    """Control steps to learn from, at most; 2e6 is understood. By default 6e6. From episodes: steps
    of learning, 1e4 by default, 1500 with --from."""
    target: Annotated[float, arg(metavar="SHARE")] = _DEFAULTS.target
    """Stop at this success under the plan's randomization, and ..."""
    target_nominal: Annotated[float, arg(metavar="SHARE")] = _DEFAULTS.target_nominal
    """... at this one in the nominal world."""
    seed: Count = 0
    """Same seed, same policy."""
    worlds: Count = _DEFAULTS.worlds
    """Copies that are stepped together."""
    history: Count = _DEFAULTS.history
    """Observations that the policy sees at once; more where delays are long."""
    hidden: Annotated[tuple[int, ...], arg(metavar="N...")] = ()
    """Widths of the hidden layers; by default 128 128, from episodes 256 256."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The run folder; by default out/train/WORLD-SEED."""
    resume: bool = False
    """Go on with the training in the run folder, exactly where it was."""
    threads: Count = 0
    """CPU threads of the physics; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Train, then say what came of it."""
        self._check()
        world = self.opened_world()
        if self.residual is not None:
            world = LearnedResidual.load(self.residual).added_to(world)
        folder = self.out or _OUT / f"{world.name.replace('/', '-')}-{self.seed}"
        writable_folder(folder)
        if self.from_episodes:
            self._clone(world, folder)
            return
        check_distinct(read={"--space": self.space}, written={"--out": folder / SPACE})
        space = Space(())
        if not self.nominal:
            world, space = asked(world, self.select, self.space)
        run = Run(
            folder=folder,
            world=world,
            plan=plan_named(self.plan, space),
            settings=self._settings(),
            start=None if self.start is None else one_step(Policy.load(self.start)),
            threads=self.threads,
        )
        with Teller(quiet=self.json) as teller:
            trained = run.run(resume=self.resume, on_progress=teller.tell)
        if self.json:
            show.print_json(_result(trained))
        else:
            _print(trained, self.world, folder)

    def _clone(self, world: World, folder: Path) -> None:
        options: dict[str, Any] = {
            "start": None if self.start is None else Policy.load(self.start),
            "resume": self.resume,
            "threads": self.threads,
            "on_progress": cloning.teller(quiet=self.json),
        }
        portions = cloning.portions(
            self.from_episodes, self.weights, self.read_as, self.participants
        )
        if self.choose_weight:
            cloning.check_two(portions, self.weights)
            found = cotrain(world, portions[0], portions[1], self._cloning(), folder, **options)
        else:
            found = clone(world, portions, self._cloning(), folder, **options)
        if self.json:
            show.print_json(cloning.result(found))
        else:
            cloning.print_cloned(found, self.world)

    def _check(self) -> None:
        check_seed(self.seed)
        self._check_kind()
        if self.steps is not None and not math.isfinite(self.steps):
            raise TrueupError(f"--steps is {self.steps}.", fix="Give a number, such as 2e6.")
        check_threads(self.threads)
        given = [
            name
            for name, value in (
                ("--nominal", self.nominal),
                ("--space", self.space),
                ("--select", self.select),
                ("--residual", self.residual),
            )
            if value
        ]
        if self.nominal and len(given) > 1:
            raise TrueupError(
                f"{given[0]} and {given[1]} contradict each other: both say what is randomized.",
                fix="Give one of the two.",
            )

    def _check_kind(self) -> None:
        """Refuse options of one way of training beside the other."""
        other = _FROM_REWARD if self.from_episodes else _FROM_EPISODES
        defaults = {field.name: field.default for field in fields(self)}
        for name in other:
            if getattr(self, name) != defaults[name]:
                way = "demonstrations" if self.from_episodes else "reward"
                raise TrueupError(
                    f"--{name.replace('_', '-')} says nothing to a training from {way}.",
                    fix="Leave it out, or leave out --from-episodes."
                    if self.from_episodes
                    else "Leave it out, or give demonstrations with --from-episodes.",
                )

    def _cloning(self) -> Cloning:
        steps = _CLONING.steps if self.start is None else _TUNING
        return Cloning(
            steps=steps if self.steps is None else int(self.steps),
            chunk=self.chunk,
            seed=self.seed,
            history=self.history,
            hidden=self.hidden or _CLONING.hidden,
        )

    def _settings(self) -> Settings:
        return Settings(
            steps=_DEFAULTS.steps if self.steps is None else int(self.steps),
            target=self.target,
            target_nominal=self.target_nominal,
            seed=self.seed,
            worlds=self.worlds,
            history=self.history,
            hidden=self.hidden or _DEFAULTS.hidden,
            lessons=0 if self.no_expert else _DEFAULTS.lessons,
        )


class Teller:
    """One line of progress: on a terminal it is rewritten, elsewhere a new one comes now and then.

    Args:
        quiet: Say nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._told_s = -math.inf

    def __enter__(self) -> Teller:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and not self._quiet:
            print(file=sys.stderr)

    def tell(self, progress: Progress) -> None:
        """Say where training stands."""
        now = perf_counter()
        if self._quiet or (not self._terminal and now - self._told_s < _LINE_EVERY_S):
            return
        self._told_s = now
        line = as_line(progress)
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)


def as_line(progress: Progress) -> str:
    """Success, steps, speed and time left, in one line."""
    look = "" if progress.look is None else f", {progress.look.share:.1%} without exploration"
    exploring = "–" if math.isnan(progress.exploring) else f"{progress.exploring:.1%}"
    minutes, seconds = divmod(round(progress.left_s), 60)
    return (
        f"{progress.steps / 1e6:.2f} M steps: success {exploring}{look}; "
        f"{progress.steps_per_s:,.0f} steps/s, {minutes}:{seconds:02d} left at most"
    )


_WHY = {
    "target": "the target is reached",
    "steps": "all steps are used up",
    "interrupted": "interrupted; go on with --resume",
}


def _result(trained: Trained) -> dict[str, Any]:
    return {
        "label": "sim-to-sim",
        "policy": trained.policy.name,
        "ended": trained.why,
        "steps": trained.steps,
        "wall_s": trained.wall_s,
        "success": {name: success.to_json() for name, success in trained.success.items()},
    }


def _print(trained: Trained, world: str, folder: Path) -> None:
    facts = {
        "world": world,
        "ended": _WHY[trained.why],
        "learned from": f"{trained.steps:,} control steps in {trained.wall_s:,.0f} s",
    }
    for name, success in trained.success.items():
        facts[f"success, {name}"] = f"{success} on {success.n:,} fresh episodes, sim-to-sim"
    facts["policy"] = trained.policy.name
    show.print_facts(facts)
    words = ("trueup", "evaluate", trained.policy.name, "--points", 10000)
    show.say(f"\nNext: {show.command(*words)}")
    show.say(f"Curves: {show.command('tensorboard', '--logdir', folder / 'logs')}")
