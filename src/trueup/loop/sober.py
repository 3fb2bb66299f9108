"""What an identification says, with as much doubt as there is cause for.

An identification begins open-minded: it doubts every number alike, by more than robots usually
differ. What recordings then leave open is no reason to take a robot for an unusual one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueup.identify import Estimate
from trueup.space import Fixed, JointNormal, Parameter, Space, Uniform

FLOOR = 0.1  # of the usual width: nothing is known so well that a policy may count on it
_MAYBE = 1.645  # standard deviations: a number this near to nominal may well be nominal
_ENDS = (0.02, 0.98)


def sobered(estimate: Estimate, catalogue: Space) -> Estimate:
    """The same estimate, as `sober` has its belief of what a world's catalogue has."""
    names = [name for name in estimate.belief.names if name in catalogue]
    if not names:
        return estimate
    return replace(estimate, belief=sober(estimate.belief.marginal(names), catalogue))


def sober(belief: JointNormal, catalogue: Space) -> JointNormal:
    """The belief, where numbers that may well be nominal are taken to be as near it as usual.

    An identification doubts everything alike. What it does not find to differ is no reason to train
    for more than the usual, nor a cost; and where two numbers can be told together only, the one
    that need not differ tells the other.
    """
    nominal = np.array([_in_scale(catalogue[name]) for name in belief.names])
    spread = np.sqrt(np.diag(belief.covariance))
    usual = np.array([usual_width(catalogue[name]) for name in belief.names])
    plain = (np.abs(belief.mean - nominal) <= _MAYBE * spread) & (spread > FLOOR * usual)
    told = np.linalg.inv(belief.covariance)
    precision = told + np.diag(np.where(plain, usual**-2.0, 0.0))
    pull = told @ belief.mean + np.where(plain, nominal * usual**-2.0, 0.0)
    covariance = np.linalg.inv(precision)
    return JointNormal(belief.names, covariance @ pull, 0.5 * (covariance + covariance.T))


def usual_width(p: Parameter) -> float:
    """Standard deviation of the prior in the parameter's scale, at least a little."""
    low, high = support(p)
    width = np.log(high / low) if p.scale == "log" else high - low
    whole = np.log(p.high / p.low) if p.scale == "log" else p.high - p.low
    return float(max(width, 1e-3 * whole) / np.sqrt(12.0))


def support(p: Parameter) -> tuple[float, float]:
    """Between what the prior lies for all that counts."""
    if isinstance(p.belief, (Uniform, Fixed)):
        return p.belief.support(p.low, p.high)
    low, high = p.quantile(np.array(_ENDS))
    return float(low), float(high)


def _in_scale(p: Parameter) -> float:
    return float(np.log(p.nominal)) if p.scale == "log" else p.nominal
