"""Success on the robot, expected before it is seen, with an interval that can be believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.diagnose.gap_report import CONFIDENCE, Rate
from trueup.diagnose.prediction import words
from trueup.diagnose.prediction.model import Joined
from trueup.diagnose.prediction.needed import trials_alone, trials_more
from trueup.diagnose.prediction.outcomes import Outcomes
from trueup.diagnose.prediction.powered import Powered, powered
from trueup.diagnose.prediction.ranking import FEWEST, Agreement, agreement
from trueup.diagnose.prediction.simulation import Candidate, Robots, outcomes
from trueup.diagnose.prediction.trials import Trials
from trueup.errors import TrueupError
from trueup.space import Space
from trueup.worlds import World

FORMAT, VERSION = "trueup/prediction", 1
_RANKED_TRIALS = 5  # of a policy, from which on its place among others means something


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What to expect of one policy on the robot.

    Attributes:
        policy: Its name.
        simulated: Success in the worlds that the robot may be.
        trials: Success in the real trials that were used.
        paired: How many of these have a start that simulation repeated.
        share: The success to expect.
        low: Lower end of its 90 % interval.
        high: Upper end.
        needed: How many more trials bring the interval to the wanted width, with simulation.
        needed_alone: The same if simulation were not asked.
        worth: How many trials without simulation would make as narrow an interval.
        powered: What the paired trials say if nothing is assumed of the simulator; none without.
        notes: What else to know, in sentences.
    """

    policy: str
    simulated: Rate
    trials: Rate
    paired: int
    share: float
    low: float
    high: float
    needed: int
    needed_alone: int
    worth: int
    powered: Powered | None
    notes: tuple[str, ...] = ()

    @property
    def saved(self) -> float:
        """The share of trials that simulation made unnecessary, at this width; 0 without trials."""
        return 1.0 - min(1.0, self.trials.trials / max(self.worth, 1)) if self.trials.trials else 0

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "policy": self.policy,
            "simulated": vars(self.simulated) | {"share": self.simulated.share},
            "trials": vars(self.trials)
            | {"share": self.trials.share if self.trials.trials else None, "paired": self.paired},
            "predicted": self.share,
            "interval_90": [self.low, self.high],
            "needed": self.needed,
            "needed_alone": self.needed_alone,
            "worth": self.worth,
            "saved": self.saved,
            "powered": None if self.powered is None else dict(vars(self.powered)),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of some policies on one robot.

    Attributes:
        world: The world's name.
        real: Whether a real robot took part; if not, all of it is sim-to-sim.
        width: The half width of an interval that is wanted.
        predictions: One for each policy that was asked for.
        calibration: Trials of other policies that were used to judge the simulator.
        agreement: Whether simulation ranks the policies as the robot does; none if too few.
        sentences: The answer in words; the first three are for tired people.
        notes: What could not be used or said, and why.
        made: How it was made, as JSON.
    """

    world: str
    real: bool
    width: float
    predictions: tuple[Prediction, ...]
    calibration: Rate
    agreement: Agreement | None
    sentences: tuple[str, ...]
    notes: tuple[str, ...] = ()
    made: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "label": "real" if self.real else "sim-to-sim",
            "world": self.world,
            "width": self.width,
            "sentences": list(self.sentences),
            "policies": [p.to_json() for p in self.predictions],
            "calibration": vars(self.calibration),
            "agreement": None if self.agreement is None else self.agreement.to_json(),
            "notes": list(self.notes),
            "made": self.made,
        }


def predict(
    world: World,
    candidates: Sequence[Candidate],
    space: Space,
    trials: Sequence[Trials] = (),
    *,
    width: float = 0.1,
    draws: int = 64,
    starts: int = 16,
    seed: int = 0,
    threads: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Forecast:
    """Play policies in the worlds that the robot may be, and weigh that against its trials.

    Args:
        world: The world.
        candidates: Policies to predict, and others whose trials calibrate the simulator.
        space: What the robot may be; `believed` makes it of estimates and gap reports.
        trials: Of any of the candidates; those of nobody here are left out, with a note.
        width: Half the width of an interval that would be narrow enough.
        draws: Possible robots to play in.
        starts: Episodes in each, beside those that begin as a trial did.
        seed: Of robots and starts.
        threads: CPU threads; 0 takes all. Results do not depend on it.
        on_progress: Called with the number of episodes just over.
    """
    _check(candidates, width, draws, starts)
    robots = Robots.drawn(space, draws, starts, seed)
    theirs, unused = assigned(candidates, trials)
    played = [
        outcomes(world, c, robots, t, threads=threads, on_progress=on_progress)
        for c, t in zip(candidates, theirs, strict=True)
    ]
    asked = [row for row, candidate in enumerate(candidates) if candidate.asked]
    predictions = combined(played, asked, width=width, seed=seed)
    others = [o for row, o in enumerate(played) if row not in asked]
    calibration = Rate(
        successes=sum(o.successes for o in others), trials=sum(o.trials for o in others)
    )
    used = [t for some in theirs for t in some]
    notes = [note for t in trials for note in t.notes]
    notes += [words.unused(t.policy, len(t)) for t in unused] + words.robots(
        sorted({t.robot for t in used})
    )
    return Forecast(
        world=world.name,
        real=any(t.real for t in used),
        width=width,
        predictions=predictions,
        calibration=calibration,
        agreement=_agreement(played),
        sentences=words.sentences(predictions, calibration, width),
        notes=tuple(dict.fromkeys(notes)),
        made={
            "draws": len(robots.points),
            "starts": robots.starts.shape[1],
            "seed": seed,
            "free": len(space.free),
        },
    )


def combined(
    played: Sequence[Outcomes], asked: Sequence[int] | None = None, *, width: float, seed: int = 0
) -> tuple[Prediction, ...]:
    """From what policies did in simulation and on the robot to what to expect of each.

    Args:
        played: Every policy of the robot, simulated with the same draws.
        asked: Rows to predict; all by default.
        width: Half the width of an interval that would be narrow enough.
        seed: Of the numbers that intervals are read from.
    """
    joined = Joined(played)
    rows = range(len(played)) if asked is None else asked
    return tuple(_predicted(joined, played[row], row, width, seed) for row in rows)


def assigned(
    candidates: Sequence[Candidate], trials: Sequence[Trials]
) -> tuple[list[list[Trials]], list[Trials]]:
    """The trials of each candidate, by the mark of its network, and those of nobody here."""
    theirs = [[t for t in trials if c.mark and t.mark == c.mark] for c in candidates]
    taken = {id(t) for some in theirs for t in some}
    return theirs, [t for t in trials if id(t) not in taken]


def _predicted(joined: Joined, played: Outcomes, row: int, width: float, seed: int) -> Prediction:
    low, share, high = (float(x) for x in np.quantile(joined.samples(row, seed), (0.05, 0.5, 0.95)))
    helped = None
    notes = words.about_trials(played.successes, played.trials)
    if len(played.beside):
        assert played.paired is not None
        helped = powered(played.beside, played.paired.mean(axis=0), played.fresh)
        if helped.low > high or helped.high < low:
            low, high = min(low, helped.low), max(high, helped.high)
            notes.append(words.CONTRADICTED)
    simulated = Rate(successes=int(played.fresh.sum()), trials=played.fresh.size)
    trials = Rate(successes=played.successes, trials=played.trials)
    notes += words.above(simulated, trials)
    half = 0.5 * (high - low)
    return Prediction(
        policy=played.policy,
        simulated=simulated,
        trials=trials,
        paired=len(played.beside),
        share=share,
        low=low,
        high=high,
        needed=trials_more(half, width, joined.spread_of_a_trial(row), CONFIDENCE),
        needed_alone=max(0, trials_alone(share, width, CONFIDENCE) - trials.trials),
        worth=trials_alone(share, half, CONFIDENCE),
        powered=helped,
        notes=tuple(notes),
    )


def _agreement(played: Sequence[Outcomes]) -> Agreement | None:
    ranked = [o for o in played if o.trials >= _RANKED_TRIALS]
    if len(ranked) < FEWEST:
        return None
    return agreement(
        [float(o.fresh.mean()) for o in ranked],
        [o.successes for o in ranked],
        [o.trials for o in ranked],
    )


def _check(candidates: Sequence[Candidate], width: float, draws: int, starts: int) -> None:
    if not any(candidate.asked for candidate in candidates):
        raise TrueupError("There is no policy to predict.", fix="Give at least one.")
    if not 0.0 < width < 0.5:
        raise TrueupError(
            f"An interval of half width {width} cannot be asked for.",
            fix="Give a share between 0 and 0.5, such as 0.1 for ± 10 points.",
        )
    if draws < 1 or starts < 1:
        raise TrueupError(
            f"{draws} robots with {starts} starts each cannot be played.",
            fix="Give at least 1 of each; 64 and 16 are usual.",
        )
