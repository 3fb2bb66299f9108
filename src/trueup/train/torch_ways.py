"""How both kinds of training use torch: beside other threads, and with whole checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from trueup.files import whole


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
