"""`trueup predict`: how often policies will work on the robot, before or with few trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_positive, check_seed, check_threads
from trueup.cli.files import check_distinct, writable_file, write_text
from trueup.cli.findings import estimate_files
from trueup.cli.options import Count, File, Machine, OneWorld
from trueup.cli.players import player, short_names
from trueup.diagnose.gap_report import GapReport
from trueup.diagnose.prediction import (
    Belief,
    Candidate,
    Forecast,
    Trials,
    believed,
    predict,
    trials_in,
)
from trueup.errors import TrueupError
from trueup.evaluate import piloted
from trueup.identify import Estimate
from trueup.policies import Policy
from trueup.worlds import World, interface_of

_NETWORK = "policy.onnx"


@dataclass(frozen=True, kw_only=True)
class Predict(Machine):
    """Success to expect on the robot, from simulation and few trials.

    Plays each policy in the worlds that the robot may be, and weighs that against trials: its own,
    and those of other policies, which tell how often the simulator is wrong on this robot.

    trueup predict POLICY --estimate identified/estimate.json --trials trials/episodes
    """

    policies: Annotated[Positional[tuple[str, ...]], arg(metavar="POLICY...")]
    """Policies' folders, or the word script."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """By default the one that the first policy was trained in."""
    estimate: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = ()
    """What was identified, as `trueup identify` writes it; several where there are several."""
    gaps: File = None
    """A gap report of `trueup diagnose`; its departures count where no estimate says more."""
    rest: bool = True
    """What nobody measured is drawn from the world's space; with --no-rest it stays nominal."""
    trials: Annotated[tuple[Path, ...], arg(metavar="DATASET...")] = ()
    """Trials that `trueup deploy` wrote, of these policies or of others on the same robot."""
    width: Annotated[float, arg(metavar="SHARE")] = 0.1
    """Half the width of an interval that would be narrow enough: 0.1 is ± 10 points."""
    out: File = None
    """Write the JSON here, too."""
    draws: Count = 64
    """Possible robots to play in."""
    starts: Count = 16
    """Episodes in each, beside those that begin as a trial did."""
    seed: Count = 0
    """Same seed, same robots, same starts."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Simulate, weigh, tell."""
        self._check()
        world = self._world()
        belief = self._belief(world)
        trials = trials_in(self.trials, world.name)
        candidates = [_candidate(word, world) for word in self.policies]
        candidates += _calibrating(candidates, trials, world)
        names = short_names([candidate.name for candidate in candidates])
        candidates = [replace(each, name=names[each.name]) for each in candidates]
        begun = sum(len(t) for t in trials if t.repeatable)
        episodes = self.draws * (self.starts * len(candidates) + begun)
        with show.progress(f"simulating {world.name}", episodes, quiet=self.json) as advance:
            forecast = predict(
                world,
                candidates,
                belief.space,
                trials,
                width=self.width,
                draws=self.draws,
                starts=self.starts,
                seed=self.seed,
                threads=self.threads,
                on_progress=advance,
            )
        paths = {name: word for word, name in names.items()}
        result = {**forecast.to_json(), "paths": paths, "belief": _about(belief)}
        if self.out:
            write_text(self.out, show.as_json(result) + "\n")
        if self.json:
            show.print_json(result)
        else:
            _print(forecast, belief, self.out)

    # --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if not self.policies:
            raise TrueupError("There is no policy to predict.", fix="Give at least one POLICY.")
        twice = {word for word in self.policies if self.policies.count(word) > 1}
        if twice:
            raise TrueupError(f"{min(twice)} is given twice.", fix="Give each policy once.")
        for option, value in (("--draws", self.draws), ("--starts", self.starts)):
            check_positive(option, value)
        check_seed(self.seed)
        check_threads(self.threads)
        if self.out:
            read = {f"--estimate ({i})": path for i, path in enumerate(self.estimate)}
            check_distinct(read={**read, "--gaps": self.gaps}, written={"--out": self.out})
            writable_file(self.out, ".json")

    def _world(self) -> World:
        if self.world:
            return OneWorld(world=self.world).opened_world()
        return player(self.policies[0]).home()

    def _belief(self, world: World) -> Belief:
        estimates = [Estimate.load(path) for path in estimate_files(self.estimate)]
        report = None if self.gaps is None else GapReport.load(self.gaps)
        return believed(world, estimates, report, rest=self.rest)


def _candidate(word: str, world: World) -> Candidate:
    who = player(word)
    who.check(world)
    mark = "" if who.trained is None else _mark(Policy.load(Path(word)))
    return Candidate(name=word, begin=who.begin, mark=mark)


def _calibrating(
    candidates: list[Candidate], trials: list[Trials], world: World
) -> list[Candidate]:
    """Other policies that were tried on this robot, as far as they are still where they were."""
    known = {candidate.mark for candidate in candidates}
    found: dict[str, Candidate] = {}
    for tried in trials:
        if tried.mark in known or tried.mark in found:
            continue
        try:
            policy = Policy.load(tried.policy)
        except TrueupError:
            continue  # the forecast says that these trials are not used
        if _mark(policy) == tried.mark:
            policy.check(interface_of(world), of=f"the world {world.name!r}")
            found[tried.mark] = Candidate(
                name=tried.policy, begin=piloted(policy), mark=tried.mark, asked=False
            )
    return list(found.values())


def _mark(policy: Policy) -> str:
    return str(policy.provenance.files.get(_NETWORK, {}).get("sha256", ""))


def _about(belief: Belief) -> dict[str, Any]:
    return {
        "learned": list(belief.learned),
        "guessed": len(belief.guessed),
        "notes": list(belief.notes),
    }


def _print(forecast: Forecast, belief: Belief, out: Path | None) -> None:
    console = show.console()
    for sentence in forecast.sentences:
        console.print(sentence, markup=False)
    console.print()
    console.print(_table(forecast))
    console.print()
    if forecast.agreement is not None:
        console.print(_agreed(forecast), markup=False)
    notes = [f"{p.policy}: {note}" for p in forecast.predictions for note in p.notes]
    for note in (*notes, *_guessed(belief), *belief.notes, *forecast.notes):
        console.print(note, markup=False)
    if not forecast.real:
        console.print("sim-to-sim: no real robot took part")
    if out:
        console.print(f"Written: {out}", markup=False, soft_wrap=True)


def _guessed(belief: Belief) -> list[str]:
    known, open_ = len(belief.learned), len(belief.guessed)
    if not open_:
        return []
    what = f"{known} parameters are identified, and {open_}" if known else f"{open_} parameters"
    return [f"{what} were never measured: they are as wide as the world's space."]


def _table(forecast: Forecast) -> Any:
    head = ("simulated", "predicted", "90 % interval", "trials", "still needed", "alone")
    rows = show.table("policy", *head, right=head)
    for p in forecast.predictions:
        rows.add_row(
            p.policy,
            f"{100 * p.simulated.share:.1f} %",
            f"{100 * p.share:.1f} %",
            f"{100 * p.low:.0f} – {100 * p.high:.0f} %",
            f"{p.trials.successes}/{p.trials.trials}" if p.trials.trials else "none",
            str(p.needed),
            str(p.needed_alone),
        )
    return rows


def _agreed(forecast: Forecast) -> str:
    found = forecast.agreement
    assert found is not None
    figures = [
        f"{name} {figure.value:.2f} ({figure.low:.2f} – {figure.high:.2f})"
        for name, figure in (
            ("Pearson", found.pearson),
            ("Spearman", found.spearman),
            ("MMRV", found.mmrv),
        )
        if figure.value is not None
    ]
    return f"Order of {found.policies} policies, simulation against trials: {', '.join(figures)}."
