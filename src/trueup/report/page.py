"""The page around the sections: one file that asks nobody for anything."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources

from trueup import __version__
from trueup.report.section import Section

BANNER = "rehearsal: sim-to-sim"
REHEARSED = "No real robot took part: every robot in this report is simulated too."


def page(title: str, sections: Sequence[Section], *, rehearsal: bool) -> str:
    """The whole file as text."""
    style, script = _kept("style.css"), _kept("zoom.js")
    banner = f'<p class="banner" role="note"><strong>{BANNER}</strong>. {REHEARSED}</p>'
    links = "".join(f'<li><a href="#{s.key}">{escape(s.title)}</a></li>' for s in sections)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="trueup {__version__}">',
            f"<title>{escape(title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#main">Skip to the answer</a>',
            f"<header><h1>{escape(title)}</h1>",
            banner if rehearsal else "",
            f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>',
            '<main id="main">',
            *(section.html() for section in sections),
            "</main>",
            f"<footer><p>Written by trueup {__version__}. "
            "report.json and report.md beside this file say the same.</p></footer>",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


@cache
def _kept(name: str) -> str:
    return (resources.files("trueup.report") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be fetched, and no other style or script runs than the one that is here."""
    marks = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    of_style, of_script = (f"'sha256-{mark}'" for mark in marks)
    return (
        f"default-src 'none'; style-src {of_style}; script-src {of_script}; "
        "img-src data:; media-src data:; base-uri 'none'; form-action 'none'"
    )
