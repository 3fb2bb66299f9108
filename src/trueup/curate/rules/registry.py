"""The rules, in the order in which they are listed."""

from __future__ import annotations

from trueup.curate.rules.alike import Duplicates, Idle, Unlike
from trueup.curate.rules.dynamics import Astray, Surprise
from trueup.curate.rules.force import Force, Penetration, Strain
from trueup.curate.rules.frozen import Frozen, Stuck
from trueup.curate.rules.limits import Limits
from trueup.curate.rules.outcome import Footage, Missing, Success, Unseen
from trueup.curate.rules.roughness import Burst, Jerk, Jump
from trueup.curate.rules.rule import Rule
from trueup.curate.rules.scale import Range, Units
from trueup.curate.rules.shift import Clock, Lead, Shift
from trueup.curate.rules.truncation import Ending, Truncation

CAUSES: tuple[type[Rule], ...] = (
    Success, Missing, Footage, Units, Duplicates, Frozen, Lead, Shift, Clock, Limits, Unseen,
)  # fmt: skip
"""Rules that name what went wrong: where one of them speaks, it speaks first, in this order."""

SYMPTOMS: tuple[type[Rule], ...] = (
    Stuck, Ending, Truncation, Range, Jump, Burst, Jerk, Astray, Surprise, Force, Strain,
    Penetration, Idle, Unlike,
)  # fmt: skip
"""Rules that say where it shows: the worst of them speaks first."""

RULES = CAUSES + SYMPTOMS
"""A new rule is a class and its name here."""

FIRST = {rule.name: place for place, rule in enumerate(CAUSES)}
"""The place of each cause; a symptom has none."""
