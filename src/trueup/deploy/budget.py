"""The latency budget of a running loop: where the time between seeing and moving goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.deploy.settle import DELAY, Settle, settle
from trueup.deploy.tape import Turns
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.space import Fixed, Normal, Point, Prior, Space
from trueup.worlds import World

_JITTER, _PERIOD = "latency/action_jitter", "latency/control_period_error"
_MEAN_OF_EXTRA = 1.3236  # of the extra delay that `latency/action_jitter` draws, in its own units
_LEAST_STD_S = 1e-4


@dataclass(frozen=True, kw_only=True)
class Spread:
    """One part of the budget over all turns, in s."""

    mean: float
    std: float
    median: float
    p95: float
    p99: float
    worst: float

    @classmethod
    def of(cls, seconds: np.ndarray) -> Spread:
        """The spread of some durations (k,)."""
        median, p95, p99 = np.quantile(seconds, [0.5, 0.95, 0.99])
        return cls(
            mean=float(seconds.mean()),
            std=float(seconds.std()),
            median=float(median),
            p95=float(p95),
            p99=float(p99),
            worst=float(seconds.max()),
        )


@dataclass(frozen=True, kw_only=True)
class Budget:
    """From the moment at which a turn begins until its command moves a joint.

    Attributes:
        period_s: Time between turns that was meant.
        turns: How many were measured.
        period: Time between turns that was kept.
        late: How late turns began.
        misses: Turns that began more than 5 ms late, as a share.
        observe: Reading the robot.
        infer: From readings to commands; the wall's time, also where the robot's is simulated.
        act: Sending them.
        settle: From there until a joint moves; none where nothing moved.
    """

    period_s: float
    turns: int
    period: Spread
    late: Spread
    misses: float
    observe: Spread
    infer: Spread
    act: Spread
    settle: Settle | None

    @property
    def total_s(self) -> float:
        """The mean of the whole: what the parameter `latency/action_delay` stands for."""
        parts = self.observe.mean + self.infer.mean + self.act.mean
        return parts + (self.settle.delay_s if self.settle else 0.0)

    def point(self) -> Point:
        """The budget as parameters of the `latency` effects.

        They know of one delay between reading and motion and of its jitter, which only ever adds.
        """
        jitter = float(np.sqrt(self.observe.std**2 + self.infer.std**2 + self.act.std**2))
        delay = max(0.0, self.total_s - _MEAN_OF_EXTRA * jitter)
        return Point(
            {DELAY: delay, _JITTER: jitter, _PERIOD: self.period.median / self.period_s - 1.0}
        )

    def space(self, space: Space) -> Space:
        """A space with its latency as it was measured: the delay within its doubt, the rest so."""
        if self.settle is None:
            raise TrueupError(
                "The latency budget says nothing about how soon joints move: none did.",
                fix="Let the policy run in earnest, not as a shadow, and for a second or more.",
            )
        point = self.point()
        beliefs: dict[str, Prior] = {
            name: Fixed(value) for name, value in point.items() if name in space
        }
        if DELAY in space:
            beliefs[DELAY] = Normal(point[DELAY], max(self.settle.std_s, _LEAST_STD_S))
        return space.narrowed(beliefs)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "total_s": self.total_s, "point": dict(self.point())}

    def save_point(self, path: Path | str) -> None:
        """Write the parameters as a point that `--point` of other commands reads."""
        with whole(path) as partial:
            self.point().save(partial)


def budget(turns: Sequence[Turns], episodes: Sequence[Episode], world: World) -> Budget:
    """What the turns of some flights say, and the episodes they recorded."""
    if not turns or not sum(len(t) for t in turns):
        raise TrueupError("No turn was recorded.", fix="Run the loop first.")
    periods = np.concatenate([np.diff(t.began_s) for t in turns if len(t) > 1] or [np.zeros(1)])
    late = np.concatenate([t.late_s for t in turns])
    return Budget(
        period_s=turns[0].period_s,
        turns=len(late),
        period=Spread.of(periods),
        late=Spread.of(late),
        misses=float((late > 0.005).mean()),
        observe=Spread.of(np.concatenate([t.observe_s for t in turns])),
        infer=Spread.of(np.concatenate([t.infer_s for t in turns])),
        act=Spread.of(np.concatenate([t.act_s for t in turns])),
        settle=settle(episodes, world),
    )
