"""A real Chromium, spoken to over a pipe: no driver, no port, no network."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: install the package `chromium` (Debian, Ubuntu) or Google Chrome"
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # CI and containers run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
_PATIENCE_S = 60.0


def found() -> str | None:
    """The browser of this machine, if it has one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser with one blank page; `folder` takes its profile."""
    path = found()
    assert path is not None, MISSING
    heard, speak = _pipe()
    listen, said = _pipe()
    # a browser listens on 3 and answers on 4
    words = ["bash", "-c", f'exec "$@" 3<&{heard} 4>&{said}', "bash", path, *_OPTIONS]
    process = subprocess.Popen(
        [*words, f"--user-data-dir={folder / 'profile'}", "about:blank"],
        pass_fds=(heard, said),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(heard)
    os.close(said)
    try:
        yield Browser(write=speak, read=listen).attached()
    finally:
        os.close(speak)  # it ends when nobody speaks to it
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(listen)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are none of the numbers that the browser wants for itself."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]


@dataclass
class Browser:
    """One page of a browser.

    Attributes:
        troubles: What the page complained of, on its console or by an error.
        requests: Addresses that it asked for.
    """

    write: int
    read: int
    session: str = ""
    troubles: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _number: int = 0
    _buffer: bytes = b""
    _events: list[str] = field(default_factory=list)

    def attached(self) -> Browser:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        found = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self.session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def open(self, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Show a file; returns when it is loaded."""
        self.troubles.clear()
        self.requests.clear()
        self._events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width)
        self.call("Page.navigate", url=path.as_uri())
        self._until("Page.loadEventFired")

    def resize(self, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def evaluate(self, expression: str) -> Any:
        """What an expression of JavaScript gives; promises are waited for."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **text)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        for kind, (x, y) in (
            ("mousePressed", start),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            more = {"button": "left", "buttons": 1, "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    # --------------------------------------------------------------------------------------------

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._heard()
            if heard.get("id") == self._number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                return heard["result"]

    def _until(self, event: str) -> None:
        while event not in self._events:
            self._heard()

    def _heard(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self.read], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"Chromium says nothing for {_PATIENCE_S:.0f} s"
            some = os.read(self.read, 1 << 20)
            assert some, "Chromium ended"
            self._buffer += some
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        self._events += [method] if method else []
        if method == "Runtime.exceptionThrown":
            self.troubles.append(str(told["exceptionDetails"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("warning", "error"):
            self.troubles.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("warning", "error"):
            self.troubles.append(str(told["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
