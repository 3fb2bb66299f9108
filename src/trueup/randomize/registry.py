"""Plans by name, for the command line and for stored runs."""

from __future__ import annotations

from typing import Any

from trueup.errors import TrueupError, UnknownName
from trueup.randomize.automatic import Automatic
from trueup.randomize.designs import FromPrior, Grid, LatinHypercube, Sobol
from trueup.randomize.entropy import MaximumEntropy
from trueup.randomize.plan import Plan
from trueup.space import Space

PLANS: dict[str, type[Plan]] = {
    kind.name: kind for kind in (FromPrior, Sobol, LatinHypercube, Grid, Automatic, MaximumEntropy)
}


def plan_named(name: str, space: Space, **settings: Any) -> Plan:
    """A plan over a space, with settings that its class takes."""
    if name not in PLANS:
        raise UnknownName("plan", name, PLANS)
    try:
        return PLANS[name](space, **settings)
    except TypeError as error:
        raise TrueupError(
            f"The plan {name!r} does not take these settings: {error}.",
            fix=f"`help(trueup.randomize.{PLANS[name].__name__})` lists those that it takes.",
        ) from error
