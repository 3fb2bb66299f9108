"""`trueup generate`: many demonstrations that worked in physics, from few sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

from tyro.conf import arg

from trueup.cli import people, show
from trueup.cli.copies import asked, check_seed, check_threads
from trueup.cli.files import writable_folder
from trueup.cli.options import CopyCount, Count, File, Machine, OneWorld, Patterns
from trueup.episodes import Dataset, JointUnits
from trueup.errors import TrueupError
from trueup.generate import (
    Advisor,
    Generated,
    Order,
    Source,
    advisor,
    generate,
    recorded,
    scripted,
    tried,
)
from trueup.policies import LEROBOT, Policy, open_policy
from trueup.space import Space
from trueup.worlds import World

_OUT = Path("out/generate")
_SCRIPT, _EXPERT = "script", "expert"


@dataclass(frozen=True, kw_only=True)
class Generate(OneWorld, Machine):
    """Make many demonstrations from few, each tried in physics.

    A source is carried to new objects, starts and points of the space, and only what succeeds is
    kept. The same command goes on where it was stopped. Episodes are simulated, and say so.

    trueup generate so101/lift --episodes 1000 --out lift
    """

    episodes: CopyCount = 1000
    """How many to keep. Fewer are the first of more: ask for more later, into the same folder."""
    source: Annotated[str, arg(metavar="SOURCE")] = _SCRIPT
    """script for the waypoints of the world; expert for one that is asked at every moment and knows
    the truth; a dataset of recorded episodes of the same robot; a trained policy's folder; or
    lerobot:FOLDER[@DATASET] for a checkpoint of LeRobot."""
    pick: Annotated[tuple[int, ...], arg(metavar="I...")] = ()
    """Use these episodes of the source only."""
    read_as: Annotated[JointUnits | None, arg(metavar="UNITS")] = None
    """Units of a source that does not state them: rad, degrees or normalized."""
    infer_objects: bool = False
    """Take the object to be where the hand closed, where the source did not record it."""
    select: Patterns = ()
    """Randomize these parameters only, e.g. latency or 'actuation/*/damping'; the rest stays
    nominal. By default: everything `trueup space WORLD` lists."""
    space: File = None
    """Draw from this space, as `trueup space WORLD --out FILE` writes it."""
    nominal: bool = False
    """Randomize nothing but where things are."""
    mistakes: Annotated[float | None, arg(metavar="SHARE")] = None
    """Share of attempts with a mistake and the way back: a nudge, a missed grasp, a slip; with
    --source expert, commands that go astray. By default 0.1, with --source expert 1."""
    knows: Literal["sensors", "truth"] = "sensors"
    """What script and recorded sources go by: what the robot observes, which a policy can learn to
    explain; or the truth of the simulator, with which more attempts succeed."""
    privileged: bool = False
    """Record also what only the simulator knows."""
    task: Annotated[tuple[str, ...], arg(metavar="TEXT...")] = ()
    """The task in words, one or several ways to say it; by default many."""
    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The register of participants: episodes of people who did not agree to training are no
    sources."""
    seed: Count = 0
    """Same seed, same episodes."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The dataset; by default out/generate/WORLD-SEED."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Generate, then say what came of it."""
        self._check()
        world = self.opened_world()
        folder = self.out or _OUT / f"{world.name.replace('/', '-')}-{self.seed}"
        space = Space(())
        if not self.nominal:
            world, space = asked(world, self.select, self.space)
        source, passed_over = self._source(world, space)
        order = Order(
            world=world,
            source=source,
            space=space,
            episodes=self.episodes,
            seed=self.seed,
            mistakes=self.mistakes,
            knows=self.knows,
            privileged=self.privileged,
            wording=self.task,
        )
        writable_folder(folder)
        started = perf_counter()
        with show.progress(f"episodes of {world.name}", self.episodes, quiet=self.json) as advance:
            made = generate(order, folder, threads=self.threads, on_progress=advance)
        result = _result(order, made, passed_over, perf_counter() - started)
        if self.json:
            show.print_json(result)
        else:
            _print(result)

    def _check(self) -> None:
        check_seed(self.seed)
        check_threads(self.threads)
        if self.nominal and (self.select or self.space):
            other = "--select" if self.select else "--space"
            raise TrueupError(
                f"--nominal and {other} contradict each other: both say what is randomized.",
                fix="Give one of the two.",
            )
        recordings = {"--pick": self.pick, "--read-as": self.read_as}
        for option, value in {**recordings, "--infer-objects": self.infer_objects}.items():
            if value and self.source in (_SCRIPT, _EXPERT):
                raise TrueupError(
                    f"{option} is about recorded episodes, but the source is the {self.source}.",
                    fix="Give a dataset with --source, or leave the option out.",
                )

    def _source(
        self, world: World, space: Space
    ) -> tuple[tuple[Source, ...] | Policy | Advisor, dict[str, int]]:
        if self.source == _SCRIPT:
            return (scripted(world),), {}
        if self.source == _EXPERT:
            return advisor(world), {}
        if self.source.startswith(LEROBOT):
            return open_policy(self.source), {}
        folder = Path(self.source)
        if (folder / "contract.json").is_file():
            return Policy.load(folder), {}
        if not (folder / "meta").is_dir():
            raise TrueupError(
                f"The source {self.source!r} is neither the word script or expert, nor a dataset, "
                "nor a policy's folder.",
                fix="Check the path.",
            )
        found = recorded(
            folder,
            world,
            episodes=self.pick or None,
            read_as=self.read_as,
            infer=self.infer_objects,
            allowed=people.trained_on(Dataset.open(folder), self.participants),
        )
        usable = tried(found.sources, world, space, knows=self.knows, threads=self.threads)
        return usable, found.passed_over


def _result(
    order: Order, made: Generated, passed_over: dict[str, int], run_s: float
) -> dict[str, Any]:
    low, high = made.interval()
    return {
        "label": "simulated",
        "world": order.world.name,
        "folder": str(made.folder),
        "ended": made.ended,
        "episodes": made.episodes,
        "attempts": made.attempts,
        "kept_share": made.share,
        "kept_interval_95": [low, high],
        "failures": dict(made.failures),
        "sources": order.works,
        "sources_passed_over": passed_over,
        "from_an_earlier_run": made.before,
        "seconds": run_s,
        "episodes_per_s": (made.episodes - made.before) / run_s,
    }


def _print(result: dict[str, Any]) -> None:
    fresh = result["episodes"] - result["from_an_earlier_run"]
    facts = {
        "world": result["world"],
        "episodes": f"{result['episodes']:,} in {result['folder']}, simulated",
        "kept": f"{show.percent(result['episodes'], result['attempts'])} of "
        f"{result['attempts']:,} attempts",
        "time": f"{result['seconds']:.1f} s for {fresh:,} episodes, "
        f"{show.number(result['episodes_per_s'])} a second",
    }
    if result["ended"] == "interrupted":
        facts["interrupted"] = "the same command goes on from here"
    show.print_facts(facts)
    out = show.console()
    _print_counts("why the rest failed", result["failures"], out)
    _print_counts("why episodes of the source were passed over", result["sources_passed_over"], out)
    known = {name: works for name, works in result["sources"].items() if works is not None}
    if len(known) > 1:
        worked = {name: f"{works:.0%}" for name, works in known.items()}
        _print_counts("how often each source worked when it was tried", worked, out)
    show.say(f"\nNext: {show.command('trueup', 'episodes', 'info', result['folder'])}")


def _print_counts(title: str, counts: dict[str, Any], out: Any) -> None:
    if counts:
        table = show.table("", title, right=("",))
        for words, count in counts.items():
            table.add_row(str(count), words)
        out.print()
        out.print(table)
