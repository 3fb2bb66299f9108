"""Single keys from the operator while a loop runs, without waiting for Enter."""

from __future__ import annotations

import os
import select
import sys
from types import TracebackType
from typing import Self

from trueup.hardware.clock import Clock


class Keys:
    """The keyboard during a `with`; silent where nobody sits at a terminal.

    Outside of it the terminal is as it was, also after an error. Ctrl-C works as always.
    """

    def __init__(self) -> None:
        self._before: list | None = None

    @property
    def there(self) -> bool:
        """Whether somebody can press a key."""
        return sys.stdin is not None and sys.stdin.isatty()

    def pressed(self) -> str | None:
        """The key pressed since the last call, the oldest first; none where there was none."""
        if self._before is None or not select.select([sys.stdin], [], [], 0.0)[0]:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="ignore") or None

    def chosen(self, wanted: str, clock: Clock) -> str:
        """Wait for one of some keys; time passes on the clock meanwhile."""
        while True:
            key = self.pressed()
            if key is not None and key.lower() in wanted:
                return key.lower()
            clock.wait_until(clock.now_s() + 0.02)

    def __enter__(self) -> Self:
        if self.there:
            import termios
            import tty

            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
            self._before = None
