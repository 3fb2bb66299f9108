"""PPO by rsl_rl, and the way from its networks to a policy's file and back."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from torch import nn

from trueup.errors import TrueupError
from trueup.policies import Layer, network_bytes, network_layers
from trueup.train.environment import ACTOR, CRITIC, Environment
from trueup.train.settings import Settings
from trueup.train.side_by_side import SideBySide

Kind = TypeVar("Kind", bound=PPO)

_NEW = 0.6  # exploration of a network that knows nothing


def make_ppo(environment: Environment, settings: Settings) -> SideBySide:
    """A new actor and critic, and what teaches them."""
    return construct(SideBySide, environment, settings)


def construct(kind: type[Kind], environment: VecEnv, settings: Settings) -> Kind:
    """Any kind of PPO with these settings."""
    model = {
        "class_name": MLPModel,
        "hidden_dims": list(settings.hidden),
        "activation": "elu",
        "obs_normalization": True,
    }
    exploration = _NEW if settings.exploration is None else settings.exploration
    noise = {"class_name": "GaussianDistribution", "init_std": exploration}
    configuration: dict[str, Any] = {
        "num_steps_per_env": settings.horizon,
        "multi_gpu": None,
        "obs_groups": {"actor": [ACTOR], "critic": [ACTOR, CRITIC]},
        "actor": {**model, "distribution_cfg": noise},
        "critic": dict(model),
        "algorithm": {
            "class_name": kind,
            "num_learning_epochs": settings.epochs,
            "num_mini_batches": settings.minibatches,
            "gamma": settings.gamma,
            "lam": settings.lam,
            "learning_rate": settings.learning_rate,
            "entropy_coef": settings.entropy,
            "desired_kl": settings.kl,
            "schedule": "adaptive",
            # rewards have no fixed scale here, and the clip of rsl_rl is in their raw units
            "use_clipped_value_loss": False,
        },
    }
    with contextlib.redirect_stdout(io.StringIO()):  # it prints both networks
        seen = environment.get_observations()
        return cast(Kind, PPO.construct_algorithm(seen, environment, configuration, "cpu"))


def actor_bytes(ppo: PPO) -> bytes:
    """The actor without its exploration, as the ONNX file of a policy."""
    actor = ppo.get_policy()
    known = actor.obs_normalizer.state_dict()
    layers = [Layer(_numpy(linear.weight), _numpy(linear.bias)) for linear in _linear(actor)]
    return network_bytes(
        mean=_numpy(known["_mean"])[0], scale=_numpy(known["_std"])[0] + _eps(actor), layers=layers
    )


def load_actor(ppo: PPO, stored: bytes, *, samples: int) -> None:
    """Begin from a stored policy instead of from nothing.

    Args:
        ppo: Whose actor has the same layers.
        stored: The policy's ONNX file.
        samples: How much experience its normalizer counts for, against what is seen from now on.
    """
    mean, scale, layers = network_layers(stored)
    actor = ppo.get_policy()
    std = np.maximum(scale - _eps(actor), 1e-6)
    with torch.no_grad():
        for linear, layer in zip(_linear(actor), layers, strict=True):
            linear.weight.copy_(torch.from_numpy(layer.weight.copy()))
            linear.bias.copy_(torch.from_numpy(layer.bias.copy()))
    known = {"_mean": mean, "_std": std, "_var": std**2}
    actor.obs_normalizer.load_state_dict(
        {name: torch.from_numpy(values[None].copy()) for name, values in known.items()}
        | {"count": torch.tensor(samples)}
    )


def widths(stored: bytes) -> tuple[int, ...]:
    """The widths of the hidden layers of a stored policy."""
    _, _, layers = network_layers(stored)
    return tuple(len(layer.bias) for layer in layers[:-1])


def spread(ppo: PPO) -> list[float]:
    """The standard deviation of each answer: how much the actor explores."""
    return _deviations(ppo).detach().tolist()


def set_spread(ppo: PPO, wanted: float | list[float]) -> None:
    """Let the actor explore this much, in all answers alike or in each its own way."""
    with torch.no_grad():
        deviations = _deviations(ppo)
        deviations.copy_(torch.as_tensor(wanted, dtype=deviations.dtype).expand_as(deviations))


@contextlib.contextmanager
def only_critic(ppo: PPO, frozen: bool) -> Iterator[None]:
    """Teach the critic alone: one that knows nothing yet would ruin a policy that is tuned."""
    parameters = list(ppo.get_policy().parameters())
    for parameter in parameters:
        parameter.requires_grad_(not frozen)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)


def check_finite(ppo: PPO, losses: dict[str, float]) -> None:
    """Refuse to go on with a network that learned nonsense."""
    finite = all(np.isfinite(value) for value in losses.values()) and all(
        bool(torch.isfinite(p).all()) for p in ppo.get_policy().parameters()
    )
    if not finite:
        shown = ", ".join(f"{name} {value:.3g}" for name, value in losses.items())
        raise TrueupError(
            f"Training stopped: the network is no longer finite (losses: {shown}).",
            fix="Go on from the last checkpoint with a smaller learning rate or smaller rewards.",
        )


def _deviations(ppo: PPO) -> torch.Tensor:
    return ppo.get_policy().get_parameter("distribution.std_param")


def _linear(actor: MLPModel) -> list[nn.Linear]:
    return [module for module in actor.mlp.modules() if isinstance(module, nn.Linear)]


def _eps(actor: MLPModel) -> float:
    """What the normalizer adds to a standard deviation before it divides by it."""
    return float(vars(actor.obs_normalizer)["eps"])


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()
