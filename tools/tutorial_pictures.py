"""Draws the tutorial's pictures from a run: python tools/tutorial_pictures.py out/run docs"""

from __future__ import annotations

import sys
from pathlib import Path

from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.loop import Origin
from trueup.replay import save_drawing
from trueup.report import overlaid
from trueup.worlds import get

_SHOWN = (1, 3)  # shoulder_lift and wrist_flex: gravity loads both


def main(run: Path, docs: Path) -> None:
    """Simulated over measured, before and after, of the run's first motion."""
    bare = get(Origin.load(run).settings.bare)
    point = Estimate.load(run / "identify/estimate.json").point
    before, after = overlaid(bare, Dataset.open(run / "recordings")[0], point)
    rows = [*(before[i] for i in _SHOWN), *(after[i] for i in _SHOWN)]
    save_drawing(rows, docs / "tutorial.png", title="before, after")
    print(f"Written: {docs / 'tutorial.png'}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except TrueupError as error:
        sys.exit(str(error))
