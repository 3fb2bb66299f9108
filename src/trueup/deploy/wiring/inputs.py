"""Whether a network has ever seen the like of what a robot shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from trueup.deploy.wiring.finding import Finding
from trueup.errors import TrueupError
from trueup.policies import Policy, network_layers

_FAR = 20.0
"""Standard deviations of the training inputs from which on a reading is a mistake, not a surprise.

At the start of episodes all over the default space of `so101/lift`, the largest is 5.
"""


def strange_inputs(
    policy: Policy, observation: Mapping[str, np.ndarray], hold: np.ndarray
) -> Iterator[Finding]:
    """Readings (n, size) that lie far outside what the policy's normalizer was made of."""
    try:
        mean, scale, _ = network_layers(policy.stored)
    except TrueupError:  # not a network of ours: it has no normalizer that we could read
        return
    at = 0
    for feature in policy.contract.interface.observations:
        part = slice(at, at + feature.size)
        at += feature.size
        values = np.asarray(observation[feature.name], float)
        far = np.abs(values - mean[part]) / np.maximum(scale[part], 1e-6)
        far = np.where(np.isfinite(far), far, np.inf)
        body, column = np.unravel_index(int(np.argmax(far)), far.shape)
        if far[body, column] > _FAR:
            yield Finding(
                check="input",
                joint=_joint(policy, feature.size, int(column)),
                body=int(body),
                evidence=f"{feature.name!r} [{column}] reads {values[body, column]:.4g} "
                f"{feature.unit}, {far[body, column]:.0f} standard deviations from what the policy "
                f"was trained on ({mean[part][column]:.4g} ± {scale[part][column]:.2g}).",
                fix="Check its unit and its frame, or train the policy for such readings.",
            )


def _joint(policy: Policy, size: int, column: int) -> str | None:
    commands = policy.contract.interface.commands
    return commands[column] if size == len(commands) else None
