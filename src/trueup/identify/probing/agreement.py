"""How far hand and eye disagree about held things, and the numbers that make them agree best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from trueup.identify.estimate import Estimate, Misfit
from trueup.identify.probing.grasps import Grasp, Seen
from trueup.space import JointNormal, Parameter
from trueup.worlds import World
from trueup.worlds.kinematics import ForwardKinematics

SITE = "tcp"
LATE, READ_LATE = "visual/tracker/delay", "latency/encoder_delay"
TABLE = tuple(f"environment/table/{name}" for name in ("height", "tilt_x", "tilt_y"))
_HOLD_M = np.array([0.002, 0.012, 0.012])  # a thing's middle from the tcp: across, along, deep
_LED = np.array([False, True, True])  # the eye leads a hand along and deep: holds err together
PLACE_M = 0.0015
"""What a hold does not repeat better than."""
_REST_M = 0.0005  # the same of a thing that lies
_FLAT_RAD = 0.004  # what a thing that lies on a table does not lie flatter than
_TURN_RAD = np.array([0.15, 0.015, 0.015])  # about the jaw's own axis a thing swings as it hangs
_CREEPS = 2.25  # s²: readings are off by as much as a thing creeps in so long, about 1.5 s
_MEMORY_S = 0.4  # readings nearer than this err together
_FAR = 3.0  # of what it may be off: a reading this far off counts less, more so further away
_BY_CHANCE = 2.0  # standard errors
_ROUNDS, _SETTLED, _STEP = 15, 1e-4, 1e-3


def scaled(p: Parameter, value: float) -> float:
    """A value as its parameter's scale has it."""
    return float(np.log(value)) if p.scale == "log" else float(value)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How far what is seen and read is off from one moment to the next.

    Attributes:
        place_m: Of a seen place, along each axis.
        turn_rad: Of a seen turn, about each axis.
        read_rad: Of a joint that is read.
    """

    place_m: float = 0.0
    turn_rad: float = 0.0
    read_rad: float = 0.0


_QUIET = Noise()


@dataclass(frozen=True, kw_only=True)
class _Apart:
    """What a fit leaves of some holds.

    Attributes:
        place: (k, 3) m, by which eye and hand disagree.
        turn: (k, 3) rad, the same of the orientation.
        hold: (g, 3) m, of each hold: where the thing lay beside where holds lie.
        rest: (g,) m, of each hold: how high the thing stood above where the table is.
        lean: (h, 2) of each hold that tells: how far it leaned before from how the table lies, in
            units of what it may.
        weight: (k,) of each row, so that neighbours do not count as news.
    """

    place: np.ndarray
    turn: np.ndarray
    hold: np.ndarray
    rest: np.ndarray
    lean: np.ndarray
    weight: np.ndarray


class Agreement:
    """Holds as numbers that are small where hand and eye agree.

    Args:
        world: Whose arm and camera they are.
        seen: How the thing is seen.
        grasps: The holds.
        belief: What is believed before.
        arm: What was identified of the arm.
        noise: Of what is seen and read.
        unsure_s: By how much frames are early or late, beside a delay that all of them have; by
            default as stale as they look.

    Attributes:
        usual_m: By how much hand and eye disagree along an axis where nothing is wrong.
    """

    def __init__(
        self,
        world: World,
        seen: Seen,
        grasps: Sequence[Grasp],
        belief: JointNormal,
        arm: Estimate | None,
        noise: Noise = _QUIET,
        unsure_s: float | None = None,
    ) -> None:
        self.space, self.belief, self.names = world.catalogue, belief, belief.names
        self._seen, self._grasps = seen, grasps
        self._joints = world.commands
        self._hand = ForwardKinematics(world.model, SITE, world.commands)
        self._table = world.model.body("table").pos.copy() if TABLE[0] in self.names else None
        self._lag_s = 0.0 if arm is None else float(arm.point.get(READ_LATE, 0.0))
        self._whiten = np.linalg.inv(np.linalg.cholesky(belief.covariance))
        self._stale_s = _stale_s(grasps)
        self.unsure_s = self._stale_s if unsure_s is None else unsure_s
        swept_m, swept_rad = self._swept()
        shaken_m, shaken_rad = self._shaken(noise.read_rad)
        self.usual_m = float(np.linalg.norm([PLACE_M, noise.place_m, shaken_m]))
        self._place_m = np.hypot(self.usual_m, swept_m)
        self._turn_rad = np.hypot(
            np.hypot(_TURN_RAD, np.hypot(noise.turn_rad, shaken_rad)), swept_rad
        )
        still_m = [noise.place_m / np.sqrt(grasp.rested) for grasp in grasps]
        self._rest_m = np.hypot(_REST_M, still_m)
        self._hold_m = _HOLD_M * np.where(_LED, np.sqrt(len(grasps)), 1.0)

    def _shaken(self, read_rad: float) -> tuple[float, float]:
        """How far off the hand is, and how far it is turned, along an axis, by noisy joints."""
        q = np.array([np.median(grasp.read(0.0), axis=0) for grasp in self._grasps])
        reach, turns = 0.0, 0.0
        for step in _STEP * np.eye(q.shape[1]):
            reach += float(((self._hand(q + step) - self._hand(q)) ** 2).sum(axis=1).mean())
            turns += float(((self._frame(q + step) - self._frame(q)) ** 2).sum(axis=(1, 2)).mean())
        return read_rad * np.sqrt(reach / 3.0) / _STEP, read_rad * np.sqrt(turns / 6.0) / _STEP

    def _swept(self) -> tuple[np.ndarray, np.ndarray]:
        """(k, 1) how far a hand goes, and (k, 1) how far it turns, in the time nobody knows."""
        moves = [self._moves(grasp) for grasp in self._grasps]
        place = np.concatenate([np.linalg.norm(speed, axis=1) for speed, _ in moves])
        turn = np.concatenate([np.linalg.norm(spin, axis=(1, 2)) for _, spin in moves])
        return self.unsure_s * place[:, None], self.unsure_s * turn[:, None] / np.sqrt(2.0)

    def _moves(self, grasp: Grasp) -> tuple[np.ndarray, np.ndarray]:
        """(k, 3) m/s of a hand, and (k, 3, 3) in a second of its axes."""
        q = grasp.read(0.0)
        return _speed(grasp.time_s, self._hand(q)), _speed(grasp.time_s, self._frame(q))

    def _frame(self, q: np.ndarray) -> np.ndarray:
        """(k, 3, 3) the hand's axes."""
        return np.stack([self._hand.into_site(q, np.tile(e, (len(q), 1))) for e in np.eye(3)], 1)

    @property
    def accounted(self) -> float:
        """Of how early and late frames are, the share that frames explain which were missed."""
        return min(1.0, (self._stale_s / self.unsure_s) ** 2) if self.unsure_s > 0 else 1.0

    def out_of_step_s(self, x: np.ndarray) -> float:
        """By how much frames are early or late: what is left along a hand's way, not across it.

        None where there may be as much along it by chance, as with a tracker that is noisy.
        """
        more, ways = [], 0.0
        for grasp in self._grasps:
            of = self._of(dict(zip(self.names, x, strict=True)), grasp)
            speed, _ = self._moves(grasp)
            off = np.einsum("kij,kj->ki", self._frame(grasp.read(0.0)), of.place)
            squared = (speed**2).sum(axis=1)
            along = (off * speed).sum(axis=1) ** 2 / np.maximum(squared, 1e-12)
            across = 0.5 * ((off**2).sum(axis=1) - along)
            more.append(along - across)
            ways += float(squared.sum())
        each = np.concatenate(more)
        total, chance = float(each.sum()), _BY_CHANCE * float(np.sqrt((each**2).sum()))
        return float(np.sqrt(total / max(ways, 1e-12))) if total > chance else 0.0

    def solved(self, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The best numbers, and their covariance: Gauss-Newton that trusts far readings less.

        It begins where it is told to, or at what is believed.
        """
        low, high = self._bounds()
        spread = np.sqrt(np.diag(self.belief.covariance))
        x = np.clip(self.belief.mean if start is None else start, low, high)
        before, precision = np.inf, np.eye(len(x))
        for _ in range(_ROUNDS):
            data, believed, weight = self._residual(x)
            slope = self._slope(x, spread, data) * weight[:, None]
            prior = self._whiten * spread
            precision = slope.T @ slope + prior.T @ prior
            pull = slope.T @ (weight * data) + prior.T @ believed
            x = np.clip(x - spread * np.linalg.solve(precision, pull), low, high)
            now = float(((weight * data) ** 2).sum() + (believed**2).sum())
            if abs(before - now) < _SETTLED * max(now, 1.0):
                break
            before = now
        covariance = np.linalg.inv(precision) * np.outer(spread, spread)
        return x, 0.5 * (covariance + covariance.T)

    def _slope(self, x: np.ndarray, spread: np.ndarray, here: np.ndarray) -> np.ndarray:
        """(rows, d) change of each reading for a change by each number's prior spread."""
        columns = []
        for i in range(len(x)):
            moved = x.copy()
            moved[i] += _STEP * spread[i]
            columns.append((self._residual(moved)[0] - here) / _STEP)
        return np.stack(columns, axis=1)

    def misfit(self, x: np.ndarray, grasps: Sequence[Grasp]) -> Misfit:
        """How far hand and eye lie apart in some holds, before and after."""
        found = [self._sizes(at, grasps) for at in (self._nominal(), x)]
        return Misfit(episodes=len(grasps), before=found[0], after=found[1])

    def misfit_of_each(self, x: np.ndarray, grasps: Sequence[Grasp]) -> Misfit:
        """The same of a usual hold: medians over holds, in some of which the thing may slip.

        Of two holds that is the better one: the thing may have slipped in the other.
        """
        found = [self.misfit(x, [grasp]) for grasp in grasps]
        before, after = (
            {c: usual_of([side[c] for side in sides if c in side]) for c in sides[0]}
            for sides in ([one.before for one in found], [one.after for one in found])
        )
        return Misfit(episodes=len(grasps), before=before, after=after)

    def _sizes(self, x: np.ndarray, grasps: Sequence[Grasp]) -> Mapping[str, float]:
        apart = self._apart(x, grasps)
        sizes = {self._seen.position: float(np.sqrt((apart.place**2).mean()))}
        if len(apart.turn):
            sizes[self._seen.orientation] = float(np.sqrt((apart.turn**2).mean()))
        return sizes

    def _nominal(self) -> np.ndarray:
        return np.array([scaled(self.space[n], self.space[n].nominal) for n in self.names])

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        ends = [(scaled(p, p.low), scaled(p, p.high)) for p in self.space.select(*self.names)]
        low, high = np.array(ends).T
        slack = 1e-9 * (high - low)
        return low - slack, high + slack

    def _residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Readings and beliefs in units of what they may be off, and how far readings count."""
        apart = self._apart(x, self._grasps)
        weight = apart.weight[:, None]
        rows = len(apart.turn)  # all of them, or none
        turned = apart.turn * weight[:rows] / self._turn_rad[:rows]
        data = np.concatenate(
            [
                (apart.place * weight / self._place_m).ravel(),
                turned.ravel(),
                (apart.hold / self._hold_m).ravel(),
                apart.rest / self._rest_m,
                apart.lean.ravel(),
            ]
        )
        trust = (1.0 + data**2 / _FAR**2) ** -0.5
        return data, self._whiten @ (x - self.belief.mean), trust

    def _apart(self, x: np.ndarray, grasps: Sequence[Grasp]) -> _Apart:
        p = dict(zip(self.names, x, strict=True))
        parts = [self._of(p, grasp) for grasp in grasps]
        return _Apart(
            place=np.concatenate([part.place for part in parts]),
            turn=np.concatenate([part.turn for part in parts]),
            hold=np.concatenate([part.hold for part in parts]),
            rest=np.concatenate([part.rest for part in parts]),
            lean=np.concatenate([part.lean for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
        )

    def _of(self, p: Mapping[str, float], grasp: Grasp) -> _Apart:
        """One hold; the hold itself is whatever suits it best."""
        late_s = p.get(LATE, 0.0) - p.get(READ_LATE, self._lag_s)
        q = grasp.read(late_s) - np.array(
            [
                p.get(f"actuation/{j}/zero_offset", 0.0) + p.get(f"sensing/{j}/bias", 0.0)
                for j in self._joints
            ]
        )
        frame = self._frame(q)
        turn = _three(p, "visual/camera/turn_{}")
        place = self._unseen(p, turn, grasp.place)
        inside = np.einsum("kji,kj->ki", frame, place - self._hand(q))
        span = max(grasp.time_s[-1] - grasp.time_s[0], _MEMORY_S)
        news = min(1.0, span / _MEMORY_S / len(q))
        lies = np.median(inside, axis=0)
        marker, twist = _three(p, "visual/tracker/bias_{}"), np.zeros((0, 3))
        if grasp.turn.shape[1]:
            seen = Rotation.from_rotvec(-turn) * Rotation.from_quat(grasp.turn[:, [1, 2, 3, 0]])
            inner = Rotation.from_matrix(frame).inv() * seen
            twist = (inner * inner.mean().inv()).as_rotvec()
            marker = inner.mean().apply(marker)
        return _Apart(
            place=_crept(grasp.time_s, inside - lies, news),
            turn=_crept(grasp.time_s, twist, news) if len(twist) else twist,
            hold=(lies - marker)[None],
            rest=self._stood(p, turn, grasp)[None],
            lean=self._leaned(p, turn, grasp),
            weight=np.full(len(q), np.sqrt(news)),
        )

    def _unseen(self, p: Mapping[str, float], turn: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Where a marker is, from where a camera that is off sees it."""
        x, y, z = turn
        off = np.eye(3) + np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        moved = place - _three(p, "visual/camera/shift_{}") - self._seen.camera
        return np.linalg.solve(off, moved.T).T + self._seen.camera

    def _stood(self, p: Mapping[str, float], turn: np.ndarray, grasp: Grasp) -> np.ndarray:
        """How much higher the thing stood than the table has it."""
        if self._table is None:
            return np.zeros(())
        x, y, z = self._unseen(p, turn, grasp.rest[None])[0]
        dx, dy = x - self._table[0], y - self._table[1]
        top = self._table[2] + p[TABLE[0]] + p[TABLE[1]] * dy - p[TABLE[2]] * dx
        half = 0.5 * np.exp(p[f"object/{self._seen.body}/size_z"])
        return np.asarray(z - p.get("visual/tracker/bias_z", 0.0) - top - half)

    def _leaned(self, p: Mapping[str, float], turn: np.ndarray, grasp: Grasp) -> np.ndarray:
        """(1, 2) how far the thing leaned from the table; none where nobody saw it lie."""
        if self._table is None or not len(grasp.upright):
            return np.zeros((0, 2))
        up = Rotation.from_rotvec(-turn).apply(grasp.upright)
        table = np.array([p[TABLE[2]], -p[TABLE[1]]])
        return (up[:2] - table)[None] / np.hypot(_FLAT_RAD, grasp.unsteady)


def _crept(time_s: np.ndarray, off: np.ndarray, news: float) -> np.ndarray:
    """What is left of (k, 3) beside a slow creep: nothing is held so fast that it does not."""
    t = time_s - time_s.mean()
    rate = t @ (off - off.mean(axis=0)) / (t @ t + _CREEPS / news)
    return off - off.mean(axis=0) - t[:, None] * rate


def usual_of(sizes: Sequence[float]) -> float:
    """The median; of the two in the middle, the smaller."""
    return float(np.quantile(sizes, 0.5, method="lower"))


def _stale_s(grasps: Sequence[Grasp]) -> float:
    """How old frames look in all holds together."""
    return float(np.sqrt(np.mean([grasp.stale_s**2 for grasp in grasps])))


def _speed(time_s: np.ndarray, path: np.ndarray) -> np.ndarray:
    """(k, ...) change of a path in a second."""
    return np.gradient(path, time_s, axis=0) if len(path) > 1 else np.zeros_like(path)


def _three(p: Mapping[str, float], pattern: str) -> np.ndarray:
    return np.array([p.get(pattern.format(axis), 0.0) for axis in "xyz"])
