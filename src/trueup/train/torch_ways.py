"""How both kinds of training use torch: on one thread, and with checkpoints that are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from trueup.files import whole


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: networks this small lose more by waking a second than it saves.

    It also makes the policy the same whatever `threads` is.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def another_thread(name: str) -> ThreadPoolExecutor:
    """One more Python thread, in which torch uses as many threads of its own as here.

    Without being told, its libraries would take every core there.
    """
    share = (torch.get_num_threads(),)
    return ThreadPoolExecutor(
        1, thread_name_prefix=name, initializer=torch.set_num_threads, initargs=share
    )


def save_whole(stored: Mapping[str, Any], path: Path | str) -> None:
    """Write tensors and plain numbers, whole or not at all."""
    with whole(path) as partial:
        try:
            torch.save(dict(stored), partial)
        except RuntimeError as error:  # torch's word for a disk that is full
            raise OSError(str(error).splitlines()[0]) from error
