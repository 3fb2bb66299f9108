"""How sure a fit is: its covariance, and the directions in which the data say nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from trueup.identify.directions import Direction as Direction
from trueup.identify.directions import unseen_of as unseen_of
from trueup.identify.problem import FINEST, Problem, Residual, is_delay
from trueup.identify.sampling import Sampled, sampled
from trueup.identify.sandwich import hanging_together, independent, sensors_alone
from trueup.identify.shares import newton, profile, shared, uncertain_shares
from trueup.identify.target import Slopes, Target
from trueup.identify.target import delays_of as _delays
from trueup.identify.target import prior_mean as prior_mean
from trueup.identify.target import prior_spread as prior_spread
from trueup.space import Space

_ROUNDS = 4
_SETTLED = 0.1  # nats: a step that gains less than this is none
_SHARES = np.array([0.25, 0.5, 1.0, 1.5])  # of a Gauss-Newton step, tried at once
_APART, _RATIO = 0.35, 1.2  # of a standard deviation, and between two: where sampling disagrees
_FAST = 0.99  # quantile of the speeds of a joint that counts as how fast it moved
_FINEST = 1e-5  # of a prior: no data tell a parameter better than that

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """What is believed after the fit, in the unit cube.

    Attributes:
        mean: (d,)
        covariance: (d, d)
        shrink: (d,) spread of each parameter as a share of its prior's.
        unseen: Directions about which the data say nothing.
        noise: (columns,) standard deviation of what is left, in the signals' units.
        narrow: (d, d) the covariance for given delays if nothing but the sensors' noise were left:
            what a check draws from, so that what is missing does not excuse itself.
        sentence: How it was found, and what says that it can be believed.
        effective: Independent draws that the check by sampling was worth; 0 where there was none.
    """

    mean: np.ndarray
    covariance: np.ndarray
    shrink: np.ndarray
    unseen: tuple[Direction, ...]
    noise: np.ndarray
    narrow: np.ndarray
    sentence: str = "Laplace's approximation, unchecked."
    effective: float = 0.0


def posterior_of(
    space: Space,
    here: Residual,
    slopes: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray | None = None,
) -> Posterior:
    """Laplace's approximation from one set of slopes: quick, and unchecked. See `believed`.

    Args:
        space: The free parameters, with what was believed of them.
        here: The residual at the best point.
        slopes: (N, d) its slope there.
        scale: (columns,) what residuals were divided by.
        mean: (d,) the best point; the prior's mean where none is given.
    """
    r, columns = here.values[0], here.column
    size = np.array([r[columns == c].std() for c in range(len(scale))])
    size = np.maximum(size, FINEST / scale)
    seen = Slopes(values=r / size[columns], slopes=slopes / size[columns][:, None])
    spread = prior_spread(space)
    return _made(
        space,
        prior_mean(space) if mean is None else mean,
        hanging_together(seen, here, spread),
        size * scale,
        sensors_alone(seen, here, spread, _delays(space)),
    )


def approximated(problem: Problem, u: np.ndarray) -> Posterior:
    """Laplace's approximation at a point (d,), where recordings are too long to test it by draws.

    How a sum of delays is shared out is looked at all the same: slopes at one share say nothing of
    the others.
    """
    here, slopes = problem.jacobian(u)
    found = posterior_of(problem.space, here, slopes, problem.scale, u)
    if len(_delays(problem.space)) < 2:
        return found
    target = Target(problem, u)
    seen = target.seen(here, slopes)
    ends = [profile(target, seen, u, i).best for i in shared(target, u)]
    tried = np.clip([u, *ends], 0.0, 1.0)
    u = tried[target.cost(tried).argmin()]
    wide = uncertain_shares(target, seen, u, found.covariance)
    return _made(problem.space, u, wide, found.noise, found.narrow, _speeds(problem))


def believed(
    problem: Problem,
    u: np.ndarray,
    *,
    generator: np.random.Generator | None = None,
    draws: int = 128,
    on_progress: Told | None = None,
) -> Posterior:
    """The posterior around the best point of a fit (d,), refined and put to the test.

    Slopes are taken across what is uncertain, because dry friction is not smooth; with them the
    point is brought to the very bottom. Errors that hang together in time count as what they are.
    Where a recording began is not taken as known. The result is held against points drawn from it,
    each weighed by its exact density; where the two disagree, the draws are believed.

    Delays take no part in the draws: they act in proportion, and those below a physics step cannot
    be simulated.

    Args:
        problem: Episodes against a world.
        u: The best point, in the unit cube.
        generator: Where draws come from; seeded with 0 by default.
        draws: How many points are drawn, and once more where few of them count; 0 for no check.
        on_progress: Told in a line how it stands.
    """
    tell = on_progress or (lambda _: None)
    u, target, seen = _settled(problem, u, tell)
    wide = hanging_together(seen, target.here, target.spread)
    wide = uncertain_shares(target, seen, u, wide + _coarseness(problem, u, wide))
    narrow = sensors_alone(seen, target.here, target.spread, target.delays)
    found = _made(problem.space, u, wide, target.noise * problem.scale, narrow, _speeds(problem))
    ways = _ways(seen, target)
    if not (draws and len(ways)):
        return found
    tell(f"posterior: {draws} draws")
    drawn = sampled(
        lambda z: target.cost(u + z @ ways),
        np.zeros(len(ways)),
        np.eye(len(ways)),
        generator=generator or np.random.default_rng(0),
        draws=draws,
    )
    return _judged(problem, found, ways, drawn)


def true_covariance(problem: Problem, u: np.ndarray) -> np.ndarray:
    """(d, d) what the data could tell at best, if a point (d,) is the truth: Fisher's information.

    For robots whose truth is known; an estimate that claims more than this is wrong.
    """
    target = Target(problem, u)
    seen = target.seen(*problem.jacobian(u))
    seen = target.slopes(u, _ways(seen, target))
    narrow = independent(seen, target.spread)
    narrow = narrow + _coarseness(problem, u, narrow)
    return uncertain_shares(target, seen, u, narrow, about_mean=True)


def _settled(problem: Problem, u: np.ndarray, tell: Told) -> tuple[np.ndarray, Target, Slopes]:
    """The very bottom near a point (d,), the landscape there, and slopes across it."""
    target = Target(problem, u)
    seen = target.seen(*problem.jacobian(u))
    for k in range(_ROUNDS):
        tell(f"posterior: round {k + 1}")
        seen = target.slopes(u, _ways(seen, target))
        tried = _candidates(target, seen, u, splits=k < 2)
        costs = target.cost(tried)
        if costs[0] - costs.min() < _SETTLED:
            break
        u = tried[costs.argmin()]
        target = Target(problem, u)
    return u, target, seen


def _candidates(target: Target, seen: Slopes, u: np.ndarray, *, splits: bool) -> np.ndarray:
    """(k, d) the point itself, and what lies further down if readings answer in proportion."""
    step = newton(seen.slopes, seen.values, u, target)
    found = [u, *np.clip(u + _SHARES[:, None] * step, 0.0, 1.0)]
    if splits:
        for i in shared(target, u):
            found.append(np.clip(profile(target, seen, u, i).best, 0.0, 1.0))
    return np.array(found)


def _ways(seen: Slopes, target: Target) -> np.ndarray:
    """(k, d) one standard deviation along each axis of the posterior for given delays."""
    rest = np.setdiff1d(np.arange(len(target.spread)), target.delays)
    part = Slopes(values=seen.values, slopes=seen.slopes[:, rest])
    values, vectors = np.linalg.eigh(independent(part, target.spread[rest]))
    ways = np.zeros((len(rest), len(target.spread)))
    ways[:, rest] = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return ways


def _judged(problem: Problem, found: Posterior, ways: np.ndarray, drawn: Sampled) -> Posterior:
    """Laplace's approximation where draws agree with it, and else what the draws say.

    Draws are in units of the approximation along `ways` (k, d).
    """
    counted = f"{drawn.effective:.0f} of {drawn.draws} draws count"
    found = replace(found, effective=drawn.effective)
    if not drawn.enough:
        sentence = f"Laplace's approximation, which sampling could not confirm: {counted}."
        return replace(found, sentence=sentence)
    if _alike(drawn):
        sentence = f"Laplace's approximation, confirmed by sampling: {counted}."
        return replace(found, sentence=sentence)
    share = drawn.effective / (drawn.effective + len(ways))  # of what draws say, against chance
    mean = np.clip(found.mean + share * drawn.mean @ ways, 0.0, 1.0)
    more = ways.T @ (share * (drawn.covariance - np.eye(len(ways)))) @ ways
    changed = _made(
        problem.space, mean, found.covariance + more, found.noise, found.narrow, _speeds(problem)
    )
    sentence = f"Importance sampling, from which Laplace's approximation differs: {counted}."
    return replace(changed, sentence=sentence, effective=drawn.effective)


def _alike(drawn: Sampled) -> bool:
    """Whether draws are of a standard normal, as far as so many of them can tell."""
    chance = 3.0 / np.sqrt(drawn.effective)
    edge = np.sqrt(len(drawn.mean) / drawn.effective)  # by so much chance alone spreads sizes
    sizes = np.sqrt(np.maximum(np.linalg.eigvalsh(drawn.covariance), 0.0))
    wide, narrow = sizes.max() > _RATIO + edge + chance, sizes.min() < 1 / _RATIO - edge - chance
    return not (wide or narrow or np.abs(drawn.mean).max() > _APART + chance)


def _made(
    space: Space,
    mean: np.ndarray,
    covariance: np.ndarray,
    noise: np.ndarray,
    narrow: np.ndarray,
    speeds: Mapping[str, float] | None = None,
) -> Posterior:
    spread = prior_spread(space)
    least = np.diag((_FINEST * spread) ** 2)  # readings without any error leave rounding alone
    covariance, narrow = covariance + least, narrow + least
    return Posterior(
        mean=mean,
        covariance=covariance,
        shrink=np.sqrt(np.diag(covariance)) / spread,
        unseen=unseen_of(space, covariance, spread, speeds),
        noise=noise,
        narrow=narrow,
    )


def _coarseness(problem: Problem, u: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(d, d) what is added for delays that may be below a physics step, where none is simulated."""
    step_s = problem.replayer.compiled.model.opt.timestep
    added = np.zeros(len(u))
    for i, p in enumerate(problem.space):
        width = p.high - p.low
        if is_delay(p) and width * (u[i] - 2.0 * np.sqrt(covariance[i, i])) < step_s:
            added[i] = (0.5 * step_s / width) ** 2 / 3.0
    return np.diag(added)


def _speeds(problem: Problem) -> dict[str, float]:
    """How fast each joint moved in the recordings, rad/s."""
    found: dict[str, float] = {}
    for episode in problem.replayer.episodes:
        if "joint_position" not in episode.signals:
            continue
        channel = episode["joint_position"]
        moved = np.abs(np.diff(channel.values, axis=0)) / np.diff(channel.time_s)[:, None]
        for name, column in zip(channel.names, moved.T, strict=True):
            read = column[np.isfinite(column)]
            fast = float(np.quantile(read, _FAST)) if len(read) else 0.0
            found[name] = max(found.get(name, 0.0), fast)
    return found
