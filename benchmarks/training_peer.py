"""PPO with learning included: ours against rsl_rl on a Gymnasium vector of the peer's lift task.

Both sides learn: the same algorithm with the same settings, the same widths of the same two
networks, as many control steps in an update. A turn is one update of each. Ours is what
`trueup train` does, where the critic learns while the worlds are played on; the peer's is rsl_rl's
own. Ours draws a new point at each reset and shows its critic the truth; the peer randomizes where
things start, and its critic sees what its actor sees, so that its networks have fewer inputs. An
operation of torch has one thread on both sides: with networks of this size, two are slower.
"""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import so101_nexus_mujoco  # noqa: F401  (registers its environments)
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from benchmarks.against_peer import PEER
from benchmarks.learning import one_torch_thread
from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import WORLD
from trueup import worlds
from trueup.randomize import FromPrior
from trueup.train import Settings, Trainer
from trueup.train.environment import ACTOR, CRITIC
from trueup.train.learner import construct

_PEER_ENVIRONMENTS = 32  # quicker than 8 or 16; each holds 60 MB of meshes
_TURNS = 10


def measure(effort: Effort) -> list[Measure]:
    settings, turns = Settings(lessons=0), Turns()
    world = worlds.get(WORLD)
    with one_torch_thread():
        ours, peer = Trainer(world, FromPrior(world.space), settings), _Peer(settings)
        for turn in range(effort.turns(_TURNS) + 1):
            with turns.of("ours"):
                ours.learn()
            with turns.of("peer"):
                peer.learn()
            if turn:  # buffers are allocated in the first
                turns.end()
            else:
                turns = Turns()
        peer.environment.close()
    speed = {side: settings.update / turns.seconds(side) for side in ("ours", "peer")}
    simulated = world.control_period_s / peer.environment.period_s
    ratio = speed["ours"] / speed["peer"]
    return [
        Measure.of(
            "PPO control steps/s, learning included, against rsl_rl on a SyncVectorEnv of "
            "so101-nexus-mujoco's lift task",
            ratio,
            unit="×",
            target=Target(side="≥", value=3.0),
            note="{:,.0f} against {:,.0f} steps/s; ".format(*map(np.median, speed.values()))
            + f"{simulated * np.median(ratio):.1f} × in simulated time; "
            f"got {turns.cores('ours'):.2f} and {turns.cores('peer'):.2f} cores",
            details={
                "steps_per_update": settings.update,
                "hidden": settings.hidden,
                "worlds": settings.worlds,
                "parameters": len(world.space),
                "peer_environments": _PEER_ENVIRONMENTS,
                "peer_horizon": peer.horizon,
                "per_cpu_second": float(
                    np.median(turns.cpu_seconds("peer") / turns.cpu_seconds("ours"))
                ),
                "control_period_s": [world.control_period_s, peer.environment.period_s],
            },
        )
    ]


class _Peer:
    """The peer's training: as many control steps in an update as ours."""

    def __init__(self, settings: Settings) -> None:
        self.horizon = settings.update // _PEER_ENVIRONMENTS
        self.environment = _PeerEnvironment(_PEER_ENVIRONMENTS)
        settings = replace(settings, worlds=_PEER_ENVIRONMENTS, horizon=self.horizon)
        self._ppo = construct(PPO, self.environment, settings)

    def learn(self) -> None:
        """One update."""
        observation = self.environment.get_observations()
        with torch.inference_mode():
            for _ in range(self.horizon):
                answer = self._ppo.act(observation)
                observation, reward, ended, extras = self.environment.step(answer)
                self._ppo.process_env_step(observation, reward, ended, extras)
            self._ppo.compute_returns(observation)
        self._ppo.update()


class _PeerEnvironment(VecEnv):
    """A Gymnasium vector as rsl_rl sees it; answers in [-1, 1] cover the range of the commands."""

    def __init__(self, n: int) -> None:
        self._envs = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.make(PEER) for _ in range(n)],
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
        )
        self._seen, _ = self._envs.reset(seed=0)
        first = self._envs.envs[0].unwrapped
        self.period_s = first._N_SUBSTEPS * first.model.opt.timestep  # type: ignore[attr-defined]
        box = self._envs.single_action_space
        self._middle, self._half = 0.5 * (box.high + box.low), 0.5 * (box.high - box.low)
        self.num_envs, self.num_actions = n, len(box.high)
        self.max_episode_length = self._envs.envs[0].spec.max_episode_steps
        self.episode_length_buf = torch.zeros(n, dtype=torch.long)
        self.device, self.cfg = "cpu", {}

    def get_observations(self) -> TensorDict:
        seen = torch.from_numpy(self._seen.astype(np.float32))
        nothing = torch.zeros(self.num_envs, 0)  # no more for the critic than for the actor
        return TensorDict({ACTOR: seen, CRITIC: nothing}, batch_size=[self.num_envs])

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
        answer = np.clip(actions.numpy(), -1.0, 1.0)
        command = (self._middle + self._half * answer).astype(np.float32)
        self._seen, reward, terminated, truncated, _ = self._envs.step(command)
        ended = (terminated | truncated).astype(np.float32)
        late = (truncated & ~terminated).astype(np.float32)
        return (
            self.get_observations(),
            torch.from_numpy(reward.astype(np.float32)),
            torch.from_numpy(ended),
            {"time_outs": torch.from_numpy(late)},
        )

    def close(self) -> None:
        self._envs.close()
