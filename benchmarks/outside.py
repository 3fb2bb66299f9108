"""Effects outside the space that a rehearsal robot may hide, of strengths that may tell."""

from __future__ import annotations

from typing import Any

import numpy as np

_ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
KINDS = (
    "cable_drag",
    "friction_law",
    "gear_ripple",
    "thermal_fade",
    "bus_hiccups",
    "late_frames",
    "undeclared_shape",
    "oil_film",
    "wobbly_mount",
)


def effect_of(kind: str, generator: np.random.Generator) -> dict[str, Any]:
    """An effect outside the space, of a strength that may tell."""

    def some(low: float, high: float) -> float:
        return float(generator.uniform(low, high))

    numbers: dict[str, dict[str, Any]] = {
        "cable_drag": {
            "joints": str(generator.choice(_ARM[:4])),
            "tied_rad": some(-1.2, 1.2),
            "pull": some(1.0, 3.0),
        },
        "friction_law": {
            "square": some(0.3, 1.0),
            "creep_torque": some(0.3, 1.0),
            "creep_rad": some(0.03, 0.1),
        },
        "gear_ripple": {"torque": some(0.3, 1.0), "teeth": int(generator.integers(12, 40))},
        "thermal_fade": {
            "loss": some(0.6, 0.9),
            "minutes": some(1.0, 6.0),
            "already_minutes": some(6.0, 15.0),
        },
        "bus_hiccups": {
            "per_minute": some(50.0, 150.0),
            "shortest_s": 0.2,
            "longest_s": some(0.5, 1.2),
        },
        "late_frames": {
            "frame_s": some(0.1, 0.25),
            "chance": some(0.2, 0.6),
            "late_s": some(0.2, 0.5),
        },
        "undeclared_shape": {"shape": "ball"},
        "oil_film": {"share": some(0.01, 0.08)},
        "wobbly_mount": {"stiffness": some(3.0, 12.0), "damping": 0.15},
    }
    return {"effect": kind, **numbers[kind]}
