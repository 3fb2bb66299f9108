"""Hand against eye: joint zeros, camera and table from things that were seen while they were held.

A held thing moves with the hand. Where the arm says that it is and where the camera says that it is
must differ by the same hold all the way; what makes them agree are the zeros of the joints, the
place and turn of the camera, and how late it is. Only kinematics is asked, so contact may be
anything. What neither can tell (a turned base against a turned camera) stays as wide as it was
believed; a policy does not notice it either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.estimate import VAGUE, Estimate, Finding
from trueup.identify.noise import white_noise
from trueup.identify.probing.agreement import (
    LATE,
    READ_LATE,
    SITE,
    TABLE,
    Agreement,
    Noise,
    scaled,
)
from trueup.identify.probing.grasps import Grasp, Seen, grasps_in, seen_in
from trueup.identify.readings.tracked import tracked_noise
from trueup.space import JointNormal, Parameter
from trueup.versions import versions
from trueup.worlds import World

_SEEN = (
    *(f"visual/tracker/bias_{a}" for a in "xyz"),
    *(f"visual/camera/shift_{a}" for a in "xyz"),
    *(f"visual/camera/turn_{a}" for a in "xyz"),
    LATE,
)
_WIDER = 3.0  # than usual: what is asked for here is what nobody measured
_MOUNTED = 8.0  # the same of a camera's mount, which is bumped, or was put up by eye
_STOOD_ON = 1.0  # the same of the table: the arm stands on it, too
_LEAST_HOLDS = 2
_AGAIN, _MUCH, _IN_STEP_S = 3, 1.2, 0.03  # frames less out of step than this are in it
_ALIKE = ("actuation/shoulder_pan/zero_offset", "visual/camera/turn_z")


def identify_hand_eye(
    world: World,
    episodes: Sequence[Episode],
    *,
    arm: Estimate | None = None,
    read_late: bool = False,
) -> Estimate:
    """Fit what makes hand and eye agree, and say how sure.

    Args:
        world: Whose arm and camera they are.
        episodes: Any in which the thing was lifted: trials, probes, demonstrations.
        arm: What was identified of the arm, for the bias of its encoders and how late they are.
        read_late: Take frames to be on time, and ask how late encoders are instead: the hand is
            where the camera has it before they show it.
    """
    began = perf_counter()
    seen = seen_in(world)
    grasps = grasps_in(seen, episodes)
    if len(grasps) < _LEAST_HOLDS:
        raise TrueupError(
            f"{len(episodes)} episodes show {len(grasps)} holds of the {seen.body}; hand and eye "
            f"need {_LEAST_HOLDS}.",
            fix="Record some: trueup record --motion carry. Put the thing into the hand where it "
            "does not find it.",
        )
    fit, held = _parted(grasps)
    noise = _noise(episodes)
    belief = _belief(world, seen, arm, read_late)
    problem, x, covariance = _agreed(world, seen, fit, belief, arm, noise)
    told = [n for n in problem.names if arm is None or n not in _known(problem.names, arm)]
    return Estimate(
        world=world.name,
        belief=JointNormal(problem.names, x, covariance).marginal(told),
        findings=tuple(f for f in _findings(problem, x, covariance) if f.name in told),
        unseen=tuple(_unseen(problem, told, covariance)),
        fitted=problem.misfit(x, fit),
        held=problem.misfit(x, held),
        each=problem.misfit_of_each(x, grasps),
        noise={seen.position: problem.usual_m},
        notes=tuple(_out_of_step(problem)),
        varies={LATE: problem.unsure_s} if _late(problem) else {},
        accounted={LATE: problem.accounted} if _late(problem) else {},
        made={
            "seconds": round(perf_counter() - began, 2),
            "holds": len(grasps),
            "versions": versions("mujoco", "numpy", "scipy"),
        },
    )


def _agreed(
    world: World,
    seen: Seen,
    grasps: Sequence[Grasp],
    belief: JointNormal,
    arm: Estimate | None,
    noise: Noise,
) -> tuple[Agreement, np.ndarray, np.ndarray]:
    """What makes hand and eye agree best, and how sure.

    Where frames turn out to be early or late by more than they look stale, what was seen of a hand
    in motion counts less, and it is asked again. If they are in step after that, a long delay had
    only not been found.
    """
    plain = problem = Agreement(world, seen, grasps, belief, arm, noise)
    x, covariance = problem.solved()
    for _ in range(_AGAIN):
        late_s = problem.out_of_step_s(x)
        if late_s < max(_IN_STEP_S, _MUCH * problem.unsure_s):
            break
        problem = Agreement(world, seen, grasps, belief, arm, noise, unsure_s=late_s)
        x, covariance = problem.solved()
    if problem is not plain and problem.out_of_step_s(x) < _IN_STEP_S:
        found, sure = plain.solved(start=x)
        if plain.out_of_step_s(found) < _IN_STEP_S:
            return plain, found, sure
    return problem, x, covariance


def _late(problem: Agreement) -> bool:
    return problem.unsure_s >= _IN_STEP_S


def _out_of_step(problem: Agreement) -> Iterator[str]:
    if _late(problem):
        yield (
            f"Frames are early or late by {1e3 * problem.unsure_s:.0f} ms (standard deviation), "
            "beside a delay that all of them have: what was seen of a hand in motion counts little."
        )


def _noise(episodes: Sequence[Episode]) -> Noise:
    """Of eye and hand; none where nobody can tell."""
    heard, read_rad = tracked_noise(episodes), white_noise(episodes, JOINTS)
    if heard is None:
        return Noise(read_rad=read_rad)
    return Noise(place_m=heard.noise.value, turn_rad=heard.angle_noise.value, read_rad=read_rad)


def _parted(grasps: Sequence[Grasp]) -> tuple[list[Grasp], list[Grasp]]:
    """Those to fit and those to judge: a fifth, of the shorter ones, which tell the least."""
    order = sorted(grasps, key=lambda grasp: grasp.time_s[0] - grasp.time_s[-1])
    count = max(1, len(order) // 5)
    return order[:-count], order[-count:]


def _belief(world: World, seen: Seen, arm: Estimate | None, read_late: bool) -> JointNormal:
    """What is believed before: wide, but for what the arm's own motion has told."""
    chain = _chain(world)
    names = [
        *(f"actuation/{joint}/zero_offset" for joint in chain),
        *(f"sensing/{joint}/bias" for joint in chain),
        *_SEEN,
        *TABLE,
        f"object/{seen.body}/size_z",
        READ_LATE,
    ]
    other = LATE if read_late else READ_LATE  # only how late one is beside the other shows
    names = [name for name in names if name in world.catalogue and name != other]
    space = world.catalogue.select(*names)
    names = list(space.names)
    mean = np.array([scaled(p, p.nominal) for p in space])
    covariance = np.diag([(_wider(p.name) * _usual(p)) ** 2 for p in space])
    known = [] if arm is None else _known(names, arm)
    if arm is not None and known:
        at = [names.index(n) for n in known]
        told = arm.belief.marginal(known)
        mean[at] = told.mean
        covariance[np.ix_(at, at)] = told.covariance
    return JointNormal(tuple(names), mean, covariance)


def _wider(name: str) -> float:
    if name in TABLE:
        return _STOOD_ON
    return _MOUNTED if name.startswith("visual/camera/") else _WIDER


def _known(names: Sequence[str], arm: Estimate) -> list[str]:
    """What free motion tells better than a hold: the encoders' bias, against the servos' targets.

    Zeros show there through the weight of the links alone, and a cable's pull looks the same.
    """
    return [n for n in names if n in arm.belief.names and n.startswith("sensing/")]


def _chain(world: World) -> list[str]:
    """The joints that carry the hand."""
    model, found = world.model, []
    body = int(model.site_bodyid[model.site(SITE).id])
    while body:
        first = int(model.body_jntadr[body])
        found += [model.joint(first + k).name for k in range(int(model.body_jntnum[body]))]
        body = int(model.body_parentid[body])
    return [joint for joint in world.commands if joint in found]


def _usual(p: Parameter) -> float:
    """Half the usual range, in the parameter's scale."""
    low, high = (scaled(p, float(v)) for v in p.quantile(np.array([0.02, 0.98])))
    return max(0.5 * (high - low), 1e-6)


def _unseen(problem: Agreement, told: Sequence[str], covariance: np.ndarray) -> Iterator[str]:
    """What hand and eye together do not tell."""
    before, after = (np.sqrt(np.diag(c)) for c in (problem.belief.covariance, covariance))
    vague = [n for n, left in zip(problem.names, after / before, strict=True) if left > VAGUE]
    vague = [name for name in vague if name in told]
    if any(name.startswith("sensing/") for name in vague):
        yield (
            "A bias of the encoders and a wrong zero look the same in the hand: free motion tells "
            "them apart (trueup identify), and its estimate belongs here (--arm)."
        )
    untold = [name for name in vague if not name.startswith("sensing/")]
    if untold:
        yield (
            f"These holds do not tell {', '.join(untold)}: carry the thing further about, and turn "
            "the wrist on the way (trueup record --motion carry)."
        )
    if all(name in vague for name in _ALIKE):
        yield (
            "An arm that is turned on its base and a camera that is turned about it look the same; "
            "a policy does not notice which it is."
        )


def _findings(problem: Agreement, x: np.ndarray, covariance: np.ndarray) -> tuple[Finding, ...]:
    before = np.sqrt(np.diag(problem.belief.covariance))
    after = np.sqrt(np.diag(covariance))
    found = []
    for i, name in enumerate(problem.names):
        p = problem.space[name]
        ends = x[i] + 1.645 * after[i] * np.array([-1.0, 0.0, 1.0])
        values = np.clip(np.exp(ends) if p.scale == "log" else ends, p.low, p.high)
        found.append(
            Finding(
                name=name,
                unit=p.unit,
                value=float(values[1]),
                low=float(values[0]),
                high=float(values[2]),
                before=p.nominal,
                left=float(min(1.0, after[i] / before[i])),
            )
        )
    return tuple(found)
