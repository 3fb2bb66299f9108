"""What `trueup deploy` wrote beside its trials, as material for a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup.diagnose import GapReport, Rate
from trueup.diagnose.gap_report import FORMAT as GAPS
from trueup.errors import TrueupError
from trueup.report.material import Tried

_RESULT = "result.json"


def read_after(path: Path | str, before: GapReport) -> GapReport | Tried:
    """Trials of the new policy: a gap report, or the result.json of a deployment.

    A result that was not played in simulation is held against what the first policy did there.
    """
    data = _json(Path(path))
    if data.get("format") == GAPS:
        return GapReport.from_json(data, str(path))
    try:
        measured = Rate(successes=int(data["success"]), trials=int(data["trials"]))
        label, world = data["label"], data["world"]
    except (KeyError, TypeError, ValueError) as error:
        raise TrueupError(
            f"{path} is neither a gap report nor the result of trials: it has no {error}.",
            fix="Give a gaps.json of `trueup diagnose` or a result.json of `trueup deploy`.",
        ) from error
    if (world, label == "real") != (before.world, before.real):
        raise TrueupError(
            f"{path} is of {world} ({label}), and the gap report is of {before.world} "
            f"({'real' if before.real else 'sim-to-sim'}).",
            fix="Report each by itself.",
        )
    return Tried(simulated=_simulated(data, measured.trials) or before.simulated, measured=measured)


def read_latency(trials: Path | str) -> Mapping[str, Any] | None:
    """The latency budget beside a dataset of trials; none where there is none."""
    for folder in (Path(trials), Path(trials).parent):
        if (folder / _RESULT).is_file():
            return _json(folder / _RESULT).get("latency_budget")
    return None


def _simulated(data: Mapping[str, Any], trials: int) -> Rate | None:
    share = data.get("simulated", {}).get("success_share")
    return None if share is None else Rate(successes=round(share * trials), trials=trials)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrueupError(
            f"{path} could not be read: {error.strerror or error}.", fix="Check the path."
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TrueupError(f"{path} is not JSON: {error}.", fix="Write it again.") from error
    if not isinstance(data, dict):
        raise TrueupError(f"{path} holds no JSON object.", fix="Check the path.")
    return data
