"""Light visual meshes: what a camera sees of a robot, at about a fiftieth of the CAD's faces.

Software GL spends its time on vertices, and the printed parts of an SO-101 carry 322,000 faces of
screw threads and fillets that no 224-pixel image shows. Here the parts of each body are merged by
colour and decimated. The result is kept in the user's cache, never in the repository, and any
trouble with that cache only costs the few seconds of building it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from trueup.errors import TrueupError

MERGE_GRID_M = 0.002
"""Vertices of one cell become one; without it the decimation stalls on CAD slivers."""

AGGRESSIVENESS = (1, 2, 3)
"""Passes of the decimation, gentlest first: the flat faces go cheaply and the shape is kept
(0.5 mm mean distance from the CAD, against 1.1 mm and a crumpled look in one pass of 7)."""

RECIPE_VERSION = 1
"""Part of the cache key: raise it when the code below would make another mesh of the same file."""

Rgba = tuple[float, float, float, float]


class Surface(NamedTuple):
    """One triangle mesh of one colour, in the frame of its body, in metres."""

    body: str
    rgba: Rgba
    vertices: np.ndarray
    """(n, 3) float32"""
    faces: np.ndarray
    """(m, 3) int32"""


def light_surfaces(model_file: Path, *, faces_by_rgba: Mapping[Rgba, int]) -> list[Surface]:
    """Return the visual meshes of an MJCF file, one per body and colour, from the cache if kept.

    Only mesh geoms of the default class `visual` count; `faces_by_rgba` gives, for each material
    colour, how many faces one merged mesh may keep. Decimation stops near that number, not on it.
    """
    spec = mujoco.MjSpec.from_file(str(model_file))
    mesh_folder = model_file.parent / spec.meshdir
    kept = cache_folder() / f"{model_file.stem}-{_key(model_file, mesh_folder, faces_by_rgba)}.npz"
    surfaces = _read(kept)
    if surfaces is None:
        surfaces = [_light(surface, faces_by_rgba) for surface in _merged(spec, mesh_folder)]
        _write(kept, surfaces)
    return surfaces


def cache_folder() -> Path:
    """Return where built meshes are kept: TRUEUP_CACHE, else the user's cache of this system."""
    if chosen := os.environ.get("TRUEUP_CACHE"):
        return Path(chosen) / "meshes"
    user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(user_cache) / "trueup" / "meshes"


def read_stl(file: Path) -> np.ndarray:
    """Return the triangles of a binary STL file, (m, 3 corners, 3) float32."""
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    content = file.read_bytes()
    count = int.from_bytes(content[80:84], "little")
    if len(content) != 84 + count * record.itemsize:
        raise TrueupError(
            f"{file} is not a whole binary STL file: its header promises {count} triangles, "
            f"but it has {len(content)} bytes.",
            fix="Reinstall the package it came with.",
        )
    return np.frombuffer(content, record, count, offset=84)["corners"]


def _key(model_file: Path, mesh_folder: Path, faces_by_rgba: Mapping[Rgba, int]) -> str:
    digest = hashlib.sha256(
        repr((RECIPE_VERSION, MERGE_GRID_M, AGGRESSIVENESS, sorted(faces_by_rgba.items()))).encode()
    )
    for file in (model_file, *sorted(mesh_folder.glob("*.stl"))):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:20]


def _merged(spec: mujoco.MjSpec, mesh_folder: Path) -> list[Surface]:
    """Bring the parts of each body into its frame, one triangle soup for each colour."""
    files = {mesh.name: mesh_folder / mesh.file for mesh in spec.meshes}
    triangles: dict[tuple[str, Rgba], list[np.ndarray]] = {}
    for geom in spec.geoms:
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH or geom.classname.name != "visual":
            continue
        red, green, blue, alpha = (round(float(x), 4) for x in spec.material(geom.material).rgba)
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, geom.quat)
        placed = read_stl(files[geom.meshname]) @ rotation.reshape(3, 3).T + geom.pos
        triangles.setdefault((geom.parent.name, (red, green, blue, alpha)), []).append(placed)
    return [
        Surface(body, rgba, *_welded(np.concatenate(parts)))
        for (body, rgba), parts in triangles.items()
    ]


def _welded(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Let one corner stand for all in its cell of the grid, and drop what collapses.

    The corner nearest the cell's mean is taken, not the mean itself: means leave the planes of the
    CAD and make flat faces look hammered.
    """
    corners = triangles.reshape(-1, 3).astype(np.float64)
    _, index, count = np.unique(
        np.round(corners / MERGE_GRID_M).astype(np.int64),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    index = index.reshape(-1)
    mean = np.stack([np.bincount(index, axis) for axis in corners.T], axis=1) / count[:, None]
    by_distance = np.lexsort((np.linalg.norm(corners - mean[index], axis=1), index))
    nearest = by_distance[np.cumsum(count) - count]
    faces = index.reshape(-1, 3)
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return corners[nearest].astype(np.float32), faces[first].astype(np.int32)


def _light(surface: Surface, faces_by_rgba: Mapping[Rgba, int]) -> Surface:
    try:
        import fast_simplification
    except ImportError as missing:
        raise TrueupError(
            "The light meshes are made on first use, and fast-simplification is not installed.",
            fix="Run: pip install fast-simplification, or build the robot with visual=False.",
        ) from missing
    if surface.rgba not in faces_by_rgba:
        raise TrueupError(
            f"A visual part of body {surface.body!r} has the colour {surface.rgba}, which has no "
            f"budget of faces. Colours with one: {', '.join(map(str, faces_by_rgba))}.",
            fix="Add the colour to faces_by_rgba.",
        )
    budget = faces_by_rgba[surface.rgba]
    for aggressiveness in AGGRESSIVENESS:
        if len(surface.faces) > budget:
            vertices, faces, *_ = fast_simplification.simplify(
                surface.vertices, surface.faces, target_count=budget, agg=aggressiveness
            )
            surface = surface._replace(
                vertices=np.asarray(vertices, np.float32), faces=np.asarray(faces, np.int32)
            )
    return surface


def _read(file: Path) -> list[Surface] | None:
    """Return what `_write` kept, or None where there is nothing whole to read."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
            return [
                Surface(
                    str(body),
                    tuple(float(x) for x in rgba),  # type: ignore[arg-type]
                    kept[f"vertices_{i}"],
                    kept[f"faces_{i}"],
                )
                for i, (body, rgba) in enumerate(zip(kept["body"], kept["rgba"], strict=True))
            ]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(file: Path, surfaces: Sequence[Surface]) -> None:
    """Keep the surfaces whole or not at all: a reader never meets a half-written file."""
    arrays: dict[str, np.ndarray] = {
        "body": np.array([surface.body for surface in surfaces]),
        "rgba": np.array([surface.rgba for surface in surfaces]),
    }
    for i, surface in enumerate(surfaces):
        arrays |= {f"vertices_{i}": surface.vertices, f"faces_{i}": surface.faces}
    unfinished: str | None = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=file.parent, prefix=file.stem, suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        os.replace(unfinished, file)
    except OSError:  # full or read-only: the next process builds again
        if unfinished is not None:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
