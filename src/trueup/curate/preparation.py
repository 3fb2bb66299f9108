"""What is learned from a first glance at a set, before each episode is judged."""

from __future__ import annotations

from dataclasses import dataclass

from trueup.curate.dynamics import Dynamics
from trueup.curate.look import Look
from trueup.curate.reading import Episodes, sampled
from trueup.curate.rules.outcome import outcome_of
from trueup.curate.rules.registry import RULES
from trueup.curate.rules.rule import Rule, Sight
from trueup.curate.survey import Survey
from trueup.curate.world_view import WorldView, found_view
from trueup.episodes import Episode


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Ready to look at every episode.

    Attributes:
        survey: Signals and spans.
        dynamics: How signals follow from each other; none where that could not be learned.
        world: Where states can be put; none where there is none.
        rules: Those that can look.
        blind: Those that cannot, by name, and why.
    """

    survey: Survey
    dynamics: Dynamics | None
    world: WorldView | None
    rules: tuple[Rule, ...]
    blind: dict[str, str]

    @classmethod
    def of(cls, episodes: Episodes, *, world: str | None, ignore: tuple[str, ...]) -> Preparation:
        """From some episodes of a set."""
        some = sampled(episodes)
        survey = Survey.of(some)
        view, why = found_view(world, [dict(e.origin) for e in some], _median(some))
        sight = Sight(
            survey=survey,
            world=view,
            blind=why,
            judged=any(outcome_of(e) is not None for e in some),
        )
        rules, blind = [], {}
        for kind in RULES:
            if kind.name not in ignore:
                rule = kind()
                reason = rule.blind(sight)
                if reason:
                    blind[rule.name] = reason
                else:
                    rules.append(rule)
        gridded = [Look(e, survey).gridded for e in some]
        return cls(
            survey=survey,
            dynamics=Dynamics.learned(gridded, survey),
            world=view,
            rules=tuple(rules),
            blind=blind,
        )

    def look(self, episode: Episode) -> Look:
        """An episode as the rules see it."""
        return Look(episode, self.survey, self.dynamics, self.world)


def _median(some: list[Episode]) -> Episode:
    """One of ordinary length."""
    return sorted(some, key=lambda episode: episode.duration_s)[len(some) // 2]
