"""Every number that training may be told, with defaults that suit all four tasks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train.

    Attributes:
        worlds: Copies that are stepped together.
        horizon: Control steps of each copy between two updates.
        steps: Control steps to learn from, at most.
        least: Control steps before which no target ends it. A policy that stops as soon as it
            succeeds is brittle.
        history: Observations that the policy sees at once. Delays, speeds and a servo that does not
            follow show only over time.
        hidden: Width of each hidden layer, of actor and critic.
        point_inputs: Numbers that the critic sees of the point: the point itself where it has no
            more parameters, and fixed mixtures of it otherwise.
        gamma: Discount of a reward one control step later. Short-sighted on purpose: the rewards of
            a well-shaped task say at every step whether things go well, and what happens more than
            a second later is mostly noise to the step that is being judged.
        lam: How much of the advantage comes from rewards rather than from the critic.
        learning_rate: At the start; it then follows `kl`.
        kl: How far one update may move the policy while no episode succeeds. Bold steps find the
            way, and later undo what was found: hence the next one.
        kl_done: How far, once every episode succeeds; in between, in proportion.
        epochs: How often an update goes over its data.
        minibatches: Parts of the data that are learned from at once.
        entropy: Reward for staying random.
        lessons: Updates that imitate the world's scripted expert before reward counts, where the
            world has one and no policy is given to begin from. 0 begins with nothing.
        exploration: Standard deviation of the first answers, which lie in [-1, 1]. None for 0.6
            from nothing, 0.15 after lessons, and for what a policy that is tuned ended with.
        critic_first: Updates in which only the critic learns, where there is a policy already. A
            critic that knows nothing would ruin it.
        practice: Share of episodes that begin nearer to their goal while none succeeds, in worlds
            that know how (`Scene.ease`); it falls to nothing as the others succeed, and such
            episodes do not count as successes.
        bonus: Reward for each step in which the task is done.
        smoothness: Cost of a change of the answers, squared and summed over servos.
        loss: Cost of losing the episode.
        check_every: Updates between two looks at the success of the policy without exploration.
        check_episodes: Episodes of such a look.
        confirm_episodes: Fresh episodes that must confirm it before training stops early.
        keep_every: Updates between two checkpoints. The worlds restart at each, and play an
            episode that nothing is learned from, so that going on now or later is the same.
        target: Success in the plan's space at which training stops, once the lower end of its 95 %
            interval has reached it.
        target_nominal: The same for the nominal world; both must be reached.
        seed: Same seed, same policy.
    """

    worlds: int = 256
    horizon: int = 24
    steps: int = 6_000_000
    least: int = 0
    history: int = 2
    hidden: tuple[int, ...] = (128, 128)
    point_inputs: int = 12
    gamma: float = 0.95
    lam: float = 0.9
    learning_rate: float = 1e-3
    kl: float = 0.03
    kl_done: float = 0.012
    epochs: int = 5
    minibatches: int = 4
    entropy: float = 0.003
    lessons: int = 40
    exploration: float | None = None
    critic_first: int = 10
    practice: float = 0.5
    bonus: float = 2.0
    smoothness: float = 0.005
    loss: float = 5.0
    check_every: int = 32
    check_episodes: int = 256
    confirm_episodes: int = 1000
    keep_every: int = 160
    target: float = 0.9
    target_nominal: float = 0.98
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for name, low, high in _BOUNDS:
            for value in _each(getattr(self, name)):
                if not low <= value <= high:
                    raise TrueupError(
                        f"The setting {name} is {value:g}; it must lie from {low:g} to {high:g}.",
                        fix="Leave it out for a default that suits most tasks.",
                    )
        if self.update < 2 * self.minibatches:
            raise TrueupError(
                f"{self.worlds} worlds × {self.horizon} steps cannot be learned from in "
                f"{self.minibatches} minibatches: each needs at least 2 steps.",
                fix="Use more worlds, a longer horizon or fewer minibatches.",
            )
        if not self.hidden:
            raise TrueupError("The network has no hidden layer.", fix="Give at least one width.")

    @property
    def update(self) -> int:
        """Control steps of one update."""
        return self.worlds * self.horizon

    @property
    def updates(self) -> int:
        """Updates of the whole training, at least one."""
        return max(1, round(self.steps / self.update))

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into equal settings."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Settings:
        """The settings that `to_json` described."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


_HUGE = 10**12
_BOUNDS = (
    ("worlds", 1, 10**6),
    ("horizon", 2, 10**5),
    ("steps", 1, _HUGE),
    ("least", 0, _HUGE),
    ("history", 1, 64),
    ("hidden", 1, 4096),
    ("point_inputs", 0, 4096),
    ("gamma", 0.0, 0.9999),
    ("lam", 0.0, 1.0),
    ("learning_rate", 1e-8, 1.0),
    ("kl", 1e-6, 1.0),
    ("kl_done", 1e-6, 1.0),
    ("epochs", 1, 1000),
    ("minibatches", 1, 1000),
    ("entropy", 0.0, 10.0),
    ("lessons", 0, _HUGE),
    ("exploration", 1e-3, 10.0),
    ("critic_first", 0, _HUGE),
    ("practice", 0.0, 0.95),
    ("bonus", 0.0, 1e6),
    ("smoothness", 0.0, 1e6),
    ("loss", 0.0, 1e6),
    ("check_every", 1, _HUGE),
    ("check_episodes", 1, 10**6),
    ("confirm_episodes", 1, 10**6),
    ("keep_every", 1, _HUGE),
    ("target", 0.0, 1.0),
    ("target_nominal", 0.0, 1.0),
    ("seed", 0, 2**62),
)


def _each(value: Any) -> tuple[float, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, tuple) else (value,)
