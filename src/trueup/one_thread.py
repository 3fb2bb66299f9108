"""Torch on one thread. Who imports this has torch, which takes seconds to come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: networks this small lose more by waking a second than it saves.

    On a machine that others use as well, they lose ten times as much. It also makes the result the
    same whatever `threads` is.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
