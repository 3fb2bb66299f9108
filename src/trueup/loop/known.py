"""What recordings of a robot say in all their ways, and what a diagnosis makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trueup.diagnose import Bank, Beyond, Case, Trials
from trueup.diagnose.hearing import departures_of, doubts_of, evidence_of
from trueup.effects.actuation import CommandNoise
from trueup.episodes import Episode
from trueup.evaluate import piloted
from trueup.identify import Estimate
from trueup.identify.frames import in_step, not_missed, seen_late, with_lateness
from trueup.identify.heard import as_usual, completed, heard, wander_of
from trueup.identify.residual import SHARE, LearnedResidual
from trueup.loop.identified import Identified
from trueup.loop.sober import sobered
from trueup.policies import Policy
from trueup.space import Prior
from trueup.worlds import World


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was identified, heard and learnt of a robot.

    Attributes:
        estimates: What was identified; the last one counts.
        heard: Noise of sensors and clocks, and what shakes commands, by parameter.
        wander: How far encoders that drift seem to take joints, in rad.
        learnt: What the arm does beside all numbers; none where that was not learnt.
    """

    estimates: Sequence[Estimate] = ()
    heard: Mapping[str, Prior] = field(default_factory=dict)
    wander: float = 0.0
    learnt: LearnedResidual | None = None

    @staticmethod
    def of(
        found: Identified,
        world: World,
        bare: World,
        recorded: Sequence[Episode],
        *,
        threads: int = 0,
    ) -> Known:
        """What was identified, and what is heard of the recordings that it was identified from."""
        noise = heard(world, bare, recorded, found.arm, threads=threads)
        return Known(
            estimates=found.estimates,
            heard=noise,
            wander=wander_of(noise, recorded),
            learnt=found.residual,
        )

    def case(
        self, world: World, policy: Policy, trials: Trials, bank: Bank, *, name: str = ""
    ) -> Case:
        """What is to be diagnosed.

        Args:
            world: Where the policy was trained.
            policy: That was tried.
            trials: What it did on the robot.
            bank: What it does in many bent worlds.
            name: That reports call the policy by; its own by default.
        """
        known, noise = self.estimates, not_missed(self.heard, self.estimates)
        stepped = [in_step(estimate) for estimate in known]
        return Case(
            world=world,
            begin=piloted(policy),
            policy=name or policy.name,
            trials=trials,
            bank=bank,
            beliefs=completed(stepped, noise, world.catalogue),
            sober=completed(
                [sobered(one, world.catalogue) for one in stepped], noise, world.catalogue
            ),
            evidence=evidence_of(known, heard=bool(noise)),
            departures=departures_of(known, world),
            doubts=doubts_of(
                known,
                shaken=CommandNoise.name in noise,
                wander=self.wander,
                learnt=self.learnt.gain if self.learnt else 0.0,
                late=seen_late(known) is not None,
            ),
            usual=as_usual(noise, world.catalogue),
            beyond=self.beyond(world),
        )

    def beyond(self, world: World) -> Beyond | None:
        """What recordings show that no parameter of a world makes; none where nothing is.

        Frames that come late by chance, and what the arm does beside all numbers.
        """
        values: dict[str, float] = {}
        if late := seen_late(self.estimates):
            world, values = with_lateness(world), late.values
        if self.learnt is not None:
            world, values[SHARE] = self.learnt.added_to(world), 1.0
        return Beyond(world=world, values=values) if values else None
