"""Model fields that follow the motion, before each physics step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mujoco.batch import Batch

from trueup.effects import Law, Values


class Laws:
    """The laws of all worlds of a batch, and what each remembers.

    Args:
        laws: What follows the motion.
        batch: The worlds.
        values: Their parameters.
        fields: (n, size) of each model field that may differ between them; written to.
    """

    def __init__(
        self, laws: Sequence[Law], batch: Batch, values: Values, fields: dict[str, np.ndarray]
    ) -> None:
        self._laws, self._fields = tuple(laws), fields
        self._state = {name: batch.bind(name) for law in laws for name in law.reads}
        self._memory = [law.start(values) for law in laws]
        self._elements = {
            name: np.unique([e for law in laws if law.field == name for e in law.elements])
            for name in {law.field for law in laws}
        }
        self._base = {name: fields[name][:, e].copy() for name, e in self._elements.items()}
        self._columns = [np.searchsorted(self._elements[law.field], law.elements) for law in laws]

    def __bool__(self) -> bool:
        return bool(self._laws)

    def restore(self, rows: np.ndarray) -> None:
        """Put the fields back to where the episode had them, before they are written anew."""
        for name, elements in self._elements.items():
            self._fields[name][np.ix_(rows, elements)] = self._base[name][rows]

    def start(self, rows: np.ndarray, p: Values) -> None:
        """Begin anew in some worlds, whose fields have been written; `p` are their parameters."""
        for name, elements in self._elements.items():
            self._base[name][rows] = self._fields[name][np.ix_(rows, elements)]
        for law, memory in zip(self._laws, self._memory, strict=True):
            for name, value in law.start(p).items():
                memory[name][rows] = value

    def write(self, step_s: np.ndarray) -> None:
        """Bring the fields up to date for the next physics step, which lasts `step_s` (n, 1)."""
        total = {name: base.copy() for name, base in self._base.items()}
        for law, memory, columns in zip(self._laws, self._memory, self._columns, strict=True):
            total[law.field][:, columns] += law.apply(self._state, memory, step_s)
        for name, values in total.items():
            self._fields[name][:, self._elements[name]] = values
