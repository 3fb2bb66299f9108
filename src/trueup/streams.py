"""Random numbers for many worlds at once, each world with a seed of its own.

A numpy `Generator` is one stream: what world 7 draws would depend on how many worlds stand beside
it, and a single failed world could not be replayed alone. Here each world owns a 64-bit seed and a
counter, and a draw is a hash of the two (SplitMix64, Steele et al. 2014), computed for all worlds
in one array expression. Same seed, same draws: in any batch, at any position, on any thread count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def seeds_from(generator: np.random.Generator, n: int) -> np.ndarray:
    """`n` fresh world seeds, (n,) uint64 below 2**63 so that they survive JSON and int64."""
    return generator.integers(0, 2**63, size=n, dtype=np.uint64)


class Streams:
    """One random stream per world, drawn from together.

    Args:
        seeds: (n,) world seeds.
        salt: Separates streams that share seeds (episode starts, action noise, ...), so that
            adding draws to one never shifts another.
    """

    def __init__(self, seeds: ArrayLike, *, salt: int = 0) -> None:
        keys = np.asarray(seeds, np.uint64)
        with np.errstate(over="ignore"):
            self._keys = _mix(keys ^ _mix(np.full_like(keys, np.uint64(salt)) + _GAMMA))
        self._counts = np.zeros_like(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def uniform(self, *shape: int) -> np.ndarray:
        """Uniform draws in [0, 1), (n, *shape)."""
        bits = self._bits(int(np.prod(shape, dtype=int)))
        return ((bits >> np.uint64(11)) * 2.0**-53).reshape(len(self), *shape)

    def normal(self, *shape: int) -> np.ndarray:
        """Standard normal draws, (n, *shape) float32, by Box and Muller.

        One hash makes a pair: its upper half the radius, its lower half the angle. Single precision
        reaches 6.6 sigma, is plenty for noise, and is many times quicker.
        """
        k = int(np.prod(shape, dtype=int))
        bits = self._bits((k + 1) // 2)
        high, low = ((half * np.float32(2.0**-32)) for half in _halves(bits))
        radius = np.sqrt(np.float32(-2.0) * np.log(high + np.float32(2.0**-33)))
        angle = np.float32(2.0 * np.pi) * low
        pairs = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return pairs[:, :k].reshape(len(self), *shape)

    def take(self, ids: np.ndarray) -> Streams:
        """The streams of some worlds, as they stand."""
        some = object.__new__(Streams)
        some._keys, some._counts = self._keys[ids], self._counts[ids]
        return some

    def reseed(self, ids: np.ndarray, other: Streams) -> None:
        """Start the streams of some worlds anew: row k of `other` becomes row ids[k] here."""
        self._keys[ids] = other._keys
        self._counts[ids] = other._counts

    def _bits(self, k: int) -> np.ndarray:
        """(n, k) fresh 64-bit numbers."""
        with np.errstate(over="ignore"):
            ticks = self._counts[:, None] + np.arange(1, k + 1, dtype=np.uint64)
            self._counts += np.uint64(k)
            return _mix(self._keys[:, None] + ticks * _GAMMA)


def _halves(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (bits >> np.uint64(32)).astype(np.float32), bits.astype(np.uint32).astype(np.float32)


def _mix(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))
