"""Shares and quantities as people say them."""

from __future__ import annotations

_SMALLER = {"s": ("ms", 1e3), "m": ("mm", 1e3), "kg": ("g", 1e3)}


def percent(share: float) -> str:
    """A share without decimals; only what is all is called 100 %, and only nothing 0 %."""
    text = f"{100 * share:.0f}"
    if (text == "100" and share < 1.0) or (text == "0" and share > 0.0):
        text = f"{min(max(100 * share, 0.1), 99.9):.1f}"
    return f"{text} %"


def percents(interval: tuple[float, float]) -> str:
    """Two shares as `79.6 – 84.3 %`."""
    low, high = interval
    return f"{100 * low:.1f} – {100 * high:.1f} %"


def scaled(unit: str, largest: float) -> tuple[str, float]:
    """The unit that suits numbers of this size, and what to multiply them by."""
    if unit == "1":
        return "", 1.0
    return _SMALLER[unit] if unit in _SMALLER and largest < 1.0 else (unit, 1.0)


def number(x: float) -> str:
    """Three significant digits, without a small exponent."""
    text = f"{x:.3g}"
    text = f"{float(text):,.0f}" if "e+" in text else text
    return text.replace("-", "−", 1) if text.startswith("-") else text


def about(n: int) -> str:
    """A count to two significant digits, as estimates deserve."""
    return f"{int(float(f'{n:.2g}')):,}"
