"""Preflight: whether a policy may move a robot, found out gently and before it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueup.deploy.wiring import judge
from trueup.deploy.wiring.clearance import Clearance
from trueup.deploy.wiring.evidence import Carriage, Response, Swept, carriage, response
from trueup.deploy.wiring.exercise import TRAVEL_SPEED, Sweep, sweeps, travelled, wiggle
from trueup.deploy.wiring.finding import Finding, Preflight
from trueup.deploy.wiring.gravity import Gravity
from trueup.deploy.wiring.inputs import strange_inputs
from trueup.deploy.wiring.trace import ASTRAY_RAD, Astray, Exerciser
from trueup.errors import TrueupError
from trueup.hardware import TABLETOP, Guard, Limits, Robot, RobotLost, Stopped
from trueup.policies import Policy
from trueup.worlds import World
from trueup.worlds.kinematics import ForwardKinematics

_AGAIN = 4  # times at most that a joint is wiggled which does not answer twice alike
_WIGGLED = ("order", "sign and size of each joint's motion")
_SWEPT = ("zeros and scales, by the joints' stops", "weight, by droop", "rate")


def preflight(
    policy: Policy,
    robot: Robot,
    world: World,
    *,
    move: bool,
    sweep: bool = True,
    on_turn: Callable[[], None] = lambda: None,
) -> Preflight:
    """Check a robot against a policy's contract and against the model, from harmless to thorough.

    Nothing moves until contract, readings and network inputs make sense. Then each joint moves a
    few degrees, one after the other. Then each goes slowly to its limits and back. The first stage
    that finds something is the last.

    Args:
        policy: What is to drive it.
        robot: Connected. It is left holding still, torque on, where it was moved.
        world: The nominal world of the robot: its model is what calibration is judged by.
        move: Whether torque may go on; the operator's choice on a real robot.
        sweep: Whether joints may go to their limits; without it, wrong zeros stay unseen.
        on_turn: Called once a turn while it moves; raise `Stopped` there to end it.
    """
    return _Check(policy, robot, world, on_turn).run(move=move, sweep=sweep)


class _Check:
    """Preflight while it goes on."""

    def __init__(
        self, policy: Policy, robot: Robot, world: World, on_turn: Callable[[], None]
    ) -> None:
        self.policy, self.robot, self.world = policy, robot, world
        self.interface, self._on_turn = robot.interface, on_turn
        self.checked: list[str] = []
        self.skipped: list[str] = []
        self.measured: dict[str, Any] = {}
        self._moving_s = robot.clock.now_s()

    def run(self, *, move: bool, sweep: bool) -> Preflight:
        stages: list[tuple[Callable[[], Iterator[Finding]], bool]] = [
            (self._contract, True),
            (self._readings, True),
            (self._wiggles, move),
            (self._sweeps, move and sweep),
        ]
        findings: list[Finding] = []
        for stage, wanted in stages:
            if wanted and not findings:
                findings += self._found(stage)
        if not findings and not move:
            self.skipped.append("all that needs motion: torque was not allowed")
        elif not findings and not sweep:
            self.skipped.append("zeros and weight: joints were not to go to their limits")
        return Preflight(
            robot=self.robot.name,
            policy=self.policy.name,
            findings=tuple(findings),
            checked=tuple(self.checked),
            skipped=tuple(self.skipped),
            measured=self.measured,
            motion_s=self.robot.clock.now_s() - self._moving_s,
        )

    def _found(self, stage: Callable[[], Iterator[Finding]]) -> list[Finding]:
        """What a stage finds; a robot that had to be stopped is a finding too."""
        try:
            return list(stage())
        except RobotLost:
            raise
        except Stopped as stopped:
            if stopped.asked:
                raise
            joint = stopped.joint if isinstance(stopped, Astray) else None
            return [Finding(check="motion", joint=joint, evidence=stopped.reason, fix=stopped.fix)]

    def _contract(self) -> Iterator[Finding]:
        self.checked.append("contract: names, order, units, limits, rate")
        try:
            self.policy.check(self.interface, of=self.robot.name)
        except TrueupError as error:
            yield Finding(check="contract", joint=None, evidence=error.what, fix=error.fix)
            return
        if self.interface.measured is None:
            yield Finding(
                check="contract",
                joint=None,
                evidence=f"{self.robot.name} does not measure its joints, so nothing can be "
                "checked.",
                fix="Let the driver observe joint positions in the order of its commands.",
            )
        if self.interface.commands != self.world.commands:
            yield Finding(
                check="contract",
                joint=None,
                evidence=f"{self.robot.name} has the joints {', '.join(self.interface.commands)}, "
                f"the world {self.world.name!r} {', '.join(self.world.commands)}.",
                fix="Name the world whose robot this is.",
            )

    def _readings(self) -> Iterator[Finding]:
        self.checked += ["readings at rest", "inputs against the policy's normalizer"]
        observation = self.robot.observe()
        position = observation[self.interface.measured or ""]
        yield from judge.resting(position, position, self.interface)
        yield from strange_inputs(self.policy, observation, position)

    def _wiggles(self) -> Iterator[Finding]:
        self.robot.enable()
        self.robot.reset()
        position = self.robot.observe()[self.interface.measured or ""]
        self.home = self._inside(self.robot.hold[0])
        self.clearance = Clearance(self.world, self.home)
        found = list(judge.resting(position, self.robot.hold, self.interface))
        found += judge.standing(self.clearance, self.home)
        if found:
            yield from found
            return
        self.checked += _WIGGLED
        self.exerciser = self._exerciser()
        self._moving_s = self.robot.clock.now_s()
        self.responses: list[Response] = []
        self._travel([self.robot.hold[0], self.home])
        for joint in range(len(self.home)):
            found = self._answered(joint)
            yield from found
            if found:  # do not go on moving a robot that is not what it seems
                return
        self._note("wiggle_gain", [r.gain[0, j] for j, r in enumerate(self.responses)])

    def _answered(self, joint: int) -> list[Finding]:
        """What is wrong with how a joint answers.

        Wiring that is wrong is wrong in the same way every time; a bus that stutters is not. So
        what a wiggle shows is believed if the next shows it too, or nothing better comes.
        """
        answer = self._wiggled(joint)
        found = list(judge.wiggled(answer, joint, self.interface))
        for _ in range(_AGAIN if found else 0):
            before, answer = answer, self._wiggled(joint)
            found = list(judge.wiggled(answer, joint, self.interface))
            if not found or answer.like(before):
                break
        self.responses.append(answer)
        return found

    def _sweeps(self) -> Iterator[Finding]:
        self.checked += _SWEPT
        gravity, done = Gravity(self.world), list[Swept]()
        weights: dict[str, float] = {}
        plan = sweeps(self.clearance, self.interface, self.home)
        reached = {self.interface.commands[planned.joint] for planned in plan}
        missing = [joint for joint in self.interface.commands if joint not in reached]
        if missing:
            yield from judge.unreachable(missing)
            return
        for joint, name in enumerate(self.interface.commands):
            mine = [planned for planned in plan if planned.joint == joint]
            swept, carried, found = self._looked(mine, gravity)
            if found:
                swept, carried, found = self._looked(mine, gravity)
            done += swept
            weights[name] = float(carried.weight[0])
            yield from found
            if found:
                return
        self.measured["weight"] = weights
        self._tell_unreached(plan)
        busy_s = np.array(self.exerciser.observe_s) + np.array(self.exerciser.act_s)
        yield from judge.timed(self.exerciser.timing, busy_s, done)

    def _tell_unreached(self, plan: list[Sweep]) -> None:
        for joint, name in enumerate(self.interface.commands):
            mine = [s for s in plan if s.joint == joint]
            for word, reached in (
                ("lower", any(s.at_low for s in mine)),
                ("upper", any(s.at_high for s in mine)),
            ):
                if not reached:
                    self.skipped.append(f"{name!r} at its {word} limit: there is no room")

    def _looked(
        self, plan: list[Sweep], gravity: Gravity
    ) -> tuple[list[Swept], Carriage, list[Finding]]:
        """Sweep one joint, and see what is wrong with it."""
        joint = plan[0].joint
        name = self.interface.commands[joint]
        swept = [self._swept(planned) for planned in plan]
        carried = carriage(swept, gravity)
        found = list(judge.loaded(carried, name))
        for one in swept:
            found += judge.stopped_early(one, carried, self.responses[joint], gravity, name)
        return swept, carried, found

    def _wiggled(self, joint: int) -> Response:
        return response(self.exerciser.play(wiggle(self.home, joint, self.interface)), joint)

    # --------------------------------------------------------------------------------------------

    def _swept(self, sweep: Sweep) -> Swept:
        period_s, low, high = self.interface.period_s, sweep.at(sweep.low), sweep.at(sweep.high)
        entry = sweep.at(sweep.entry)
        self._travel([self.home, entry, low])
        up = self.exerciser.play(sweep.upwards(period_s))
        top = self.exerciser.settled(high)
        down = self.exerciser.play(sweep.downwards(period_s))
        bottom = self.exerciser.settled(low)
        self._travel([low, entry, self.home])
        return Swept(sweep=sweep, up=up, top=top, down=down, bottom=bottom)

    def _travel(self, stops: list[np.ndarray]) -> None:
        self.exerciser.play(travelled(stops, self.interface.period_s, TRAVEL_SPEED))

    def _exerciser(self) -> Exerciser:
        place = hand(self.world)
        box = TABLETOP if place else None
        limits = Limits.of(self.interface, speed=2.0 * TRAVEL_SPEED, error=ASTRAY_RAD, box=box)
        guard = Guard(limits, self.interface, place=place)
        return Exerciser(self.robot, guard, self._on_turn)

    def _inside(self, pose: np.ndarray) -> np.ndarray:
        return np.clip(pose, self.interface.low, self.interface.high)

    def _note(self, what: str, values: list[float]) -> None:
        rounded = [round(float(value), 4) for value in values]
        self.measured[what] = dict(zip(self.interface.commands, rounded, strict=True))


def hand(world: World) -> ForwardKinematics | None:
    """Where the hand is in the nominal world; none where the model has no `tcp`."""
    model = world.model
    names = [model.site(i).name for i in range(model.nsite)]
    joints = tuple(model.joint(int(j)).name for j in model.actuator_trnid[:, 0])
    return ForwardKinematics(model, "tcp", joints) if "tcp" in names else None
