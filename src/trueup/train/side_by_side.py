"""PPO whose critic learns while the worlds are already played on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from tensordict import TensorDict
from torch.distributions import Normal, kl_divergence

from trueup.train.parts import Part, Slope, descend, in_halves
from trueup.train.torch_ways import another_thread

_SLOWEST, _FASTEST, _FACTOR = 1e-5, 1e-2, 1.5  # learning rates as rsl_rl adapts them


class SideBySide(PPO):
    """rsl_rl's PPO for two plain networks, which learn one beside the other.

    What is learned is what `PPO.update` would have taught with the same parts of the same data: the
    networks share no weight, their losses are summed and their slopes clipped apart. All that
    passes between them is the learning rate, which follows the actor.

    While experience is collected only the actor is asked, and the critic judges all of it at once
    afterwards. So the actor learns first, from two halves of each part at a time. The critic learns
    while the worlds are already played on: between two steps of physics, Python leaves all cores
    but one idle. Views are put together and scaled once an update instead of once a step.

    Attributes:
        threads: 1 teaches one network after the other, with the same result; 0 takes all cores.
        critic_rate: The critic's own learning rate; None follows the actor's.
        actor_optimizer: Of the actor, its exploration included.
        critic_optimizer: Of the critic.
    """

    def __init__(self, actor: MLPModel, critic: MLPModel, *args: Any, **options: Any) -> None:
        super().__init__(actor, critic, *args, **options)
        self.threads = 0
        self.critic_rate: float | None = None
        self.actor_optimizer = torch.optim.Adam(actor.parameters(), lr=self.learning_rate)
        self.critic_optimizer = torch.optim.Adam(critic.parameters(), lr=self.learning_rate)
        del self.optimizer  # of both at once: it would learn nothing any more
        self._work: Future[float] | None = None  # the critic's, while it learns
        self._value_loss = 0.0
        self._late = torch.zeros_like(self.storage.rewards)  # 1 where an episode's time was up

    # Collecting ---------------------------------------------------------------------------------

    def act(self, obs: TensorDict) -> torch.Tensor:
        stored, actor = self.storage, self.actor
        k = stored.step
        answers = actor(obs, stochastic_output=True)
        if stored.distribution_params is None:
            shape = (stored.num_transitions_per_env, *answers.shape)
            stored.distribution_params = torch.zeros(shape), torch.zeros(shape)
        for name, seen in obs.items():
            stored.observations.get(name)[k] = seen
        for kept, now in zip(
            stored.distribution_params, actor.output_distribution_params, strict=True
        ):
            kept[k] = now
        stored.actions[k] = answers
        return answers

    def process_env_step(
        self,
        obs: TensorDict,
        rewards: torch.Tensor,
        dones: torch.Tensor,
        extras: dict[str, torch.Tensor],
    ) -> None:
        stored = self.storage
        stored.rewards[stored.step, :, 0] = rewards
        stored.dones[stored.step, :, 0] = dones.byte()
        self._late[stored.step, :, 0] = extras["time_outs"]
        stored.step += 1

    def compute_returns(self, obs: TensorDict) -> None:
        """Judge what was collected, `obs` being what came after it, and sum up its rewards.

        What would have followed an episode whose time was up is taken to be worth what its last
        step was.
        """
        self._settle()
        stored = self.storage
        stored.values[:] = self.critic(stored.observations)
        stored.rewards += self.gamma * stored.values * self._late
        going = 1.0 - stored.dones.float()
        after = torch.cat([stored.values[1:], self.critic(obs)[None]])
        surprise = stored.rewards + going * self.gamma * after - stored.values
        advantage = torch.zeros_like(surprise[0])
        for k in reversed(range(len(surprise))):
            advantage = surprise[k] + going[k] * self.gamma * self.lam * advantage
            stored.returns[k] = advantage + stored.values[k]
        gains = stored.returns - stored.values
        stored.advantages = (gains - gains.mean()) / (gains.std() + 1e-8)
        self._judge_answers()

    def _judge_answers(self) -> None:
        """How likely each answer was when it was given."""
        stored = self.storage
        assert stored.distribution_params is not None
        mean, deviation = stored.distribution_params
        likely = Normal(mean, deviation).log_prob(stored.actions)
        stored.actions_log_prob[:] = likely.sum(-1, keepdim=True)

    # Learning -----------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Teach the actor, and let the critic begin; its loss is that of the update before."""
        parts = self._parts()
        seen = self.storage.observations.flatten(0, 1)
        for network in (self.actor, self.critic):  # what the parts show is scaled already
            network.update_normalization(seen)
        self.storage.clear()
        losses, rates = self._teach_actor(parts)
        losses["value"] = self._value_loss
        self._begin(parts, rates)
        return losses

    def _begin(self, parts: list[Part], rates: list[float]) -> None:
        """Let the critic learn, now or meanwhile."""
        if self.threads == 1:
            self._value_loss = self._teach_critic(parts, rates)
            return
        other = another_thread("critic")
        self._work = other.submit(self._teach_critic, parts, rates)
        other.shutdown(wait=False)

    def _settle(self) -> None:
        """Wait until the critic has learned."""
        if self._work is not None:
            self._value_loss, self._work = self._work.result(), None

    def _parts(self) -> list[Part]:
        """The data of this update in random parts, the same in every epoch, as rsl_rl has them."""
        stored, n = self.storage, self.num_mini_batches
        assert stored.distribution_params is not None
        mean, deviation = stored.distribution_params
        with torch.no_grad():
            whole = Part(
                actor_view=self.actor.get_latent(stored.observations).flatten(0, 1),
                critic_view=self.critic.get_latent(stored.observations).flatten(0, 1),
                actions=stored.actions.flatten(0, 1),
                actions_log_prob=stored.actions_log_prob.flatten(),
                mean=mean.flatten(0, 1),
                deviation=deviation.flatten(0, 1),
                advantages=stored.advantages.flatten(),
                returns=stored.returns.flatten(0, 1),
            )
            count = len(whole.actions) // n
            mixed = whole.rows(torch.randperm(n * count))
        return [mixed.rows(slice(k * count, (k + 1) * count)) for k in range(n)]

    def _turns(self, parts: list[Part]) -> Iterator[Part]:
        for _ in range(self.num_learning_epochs):
            yield from parts

    def _teach_actor(self, parts: list[Part]) -> tuple[dict[str, float], list[float]]:
        """Go over all parts; the losses, and the learning rate at each step."""
        learns = any(p.requires_grad for p in self.actor.parameters())
        losses, rates, count = torch.zeros(2), [], len(parts[0].actions)
        with in_halves(self.threads) as both:
            for part in self._turns(parts):
                one, other = both(lambda half: self._slope(half, count, learns), part.halves())
                self._adapt(one.kl + other.kl)
                rates.append(self.learning_rate)
                losses += one.losses + other.losses
                if learns:
                    slopes = [a + b for a, b in zip(one.slopes, other.slopes, strict=True)]
                    descend(self.actor_optimizer, slopes, self.learning_rate, self.max_grad_norm)
        surrogate, entropy = (losses / len(rates)).tolist()
        return {"surrogate": surrogate, "entropy": entropy}, rates

    def _slope(self, half: Part, count: int, learns: bool) -> Slope:
        """What half of a part says of the actor: its share of the means over `count` rows."""
        then = Normal(half.mean, half.deviation)
        with torch.set_grad_enabled(learns):
            mean = self.actor.mlp(half.actor_view)
            now = Normal(mean, self._deviation().expand_as(mean))
            entropy = now.entropy().sum() / count
            ratio = torch.exp(now.log_prob(half.actions).sum(-1) - half.actions_log_prob)
            gain = -half.advantages
            clipped = gain * torch.clamp(ratio, 1.0 - self.clip_param, 1.0 + self.clip_param)
            surrogate = torch.max(gain * ratio, clipped).sum() / count
            loss = surrogate - self.entropy_coef * entropy
        weights = list(self.actor.parameters())
        with torch.no_grad():
            kl = float(kl_divergence(then, now).sum()) / count
            losses = torch.stack([surrogate, entropy])
        slopes = torch.autograd.grad(loss, weights) if learns else ()
        return Slope(kl=kl, losses=losses, slopes=slopes)

    def _deviation(self) -> torch.Tensor:
        """How much the actor explores, as its distribution bounds it."""
        known: Any = self.actor.distribution
        return known.std_param.clamp(*known.std_range)

    def _teach_critic(self, parts: list[Part], rates: list[float]) -> float:
        """Go over all parts; the mean loss."""
        total = torch.zeros(())
        for part, rate in zip(self._turns(parts), rates, strict=True):
            loss = (part.returns - self.critic.mlp(part.critic_view)).pow(2).mean()
            weights = list(self.critic.parameters())
            slopes = torch.autograd.grad(self.value_loss_coef * loss, weights)
            rate = self.critic_rate or rate
            descend(self.critic_optimizer, slopes, rate, self.max_grad_norm)
            total += loss.detach()
        return float(total) / len(rates)

    def _adapt(self, kl: float) -> None:
        """Let the learning rate follow how far the actor has moved since the data were made."""
        if self.schedule != "adaptive":
            return
        if kl > 2.0 * self.desired_kl:
            self.learning_rate = max(_SLOWEST, self.learning_rate / _FACTOR)
        elif 0.0 < kl < 0.5 * self.desired_kl:
            self.learning_rate = min(_FASTEST, self.learning_rate * _FACTOR)

    # Keeping ------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        self._settle()
        kept = {f"{name}_state_dict": part.state_dict() for name, part in self._kept().items()}
        return {**kept, "value_loss": self._value_loss}

    def load(
        self, loaded_dict: dict[str, Any], load_cfg: dict[str, Any] | None, strict: bool
    ) -> bool:
        self._settle()
        for name, part in self._kept().items():
            part.load_state_dict(loaded_dict[f"{name}_state_dict"])
        self._value_loss = loaded_dict["value_loss"]
        return True

    def _kept(self) -> dict[str, Any]:
        names = ("actor", "critic", "actor_optimizer", "critic_optimizer")
        return {name: getattr(self, name) for name in names}
