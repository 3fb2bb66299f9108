"""A dataset as LeRobot wrote it before v3.0: files for each episode, and lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.episodes.recordings import JOINTS, greys
from trueup.episodes.storage import pictures

FPS = 30
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
KEY = "observation.images.front"
NAMES = [f"{joint}.pos" for joint in JOINTS]


def degrees(index: int, frames: int) -> np.ndarray:
    """(frames, 6) what the arm was told, in LeRobot's degrees; the gripper from 0 to 100."""
    rng = np.random.default_rng(index)
    return rng.uniform([-90] * 5 + [0], [90] * 5 + [100], (frames, 6)).astype(np.float32)


def write_v21(folder: Path, lengths=(6, 9, 4)) -> None:
    tasks = ["pick the cube", "place the cube"]
    begin = 0
    for index, n in enumerate(lengths):
        table = pa.table(
            {
                "action": list(degrees(index, n)),
                "observation.state": list(degrees(100 + index, n)),
                "timestamp": (np.arange(n) / FPS).astype(np.float32),
                "frame_index": np.arange(n),
                "episode_index": np.full(n, index),
                "index": begin + np.arange(n),
                "task_index": np.full(n, index % 2),
            }
        )
        path = folder / f"data/chunk-000/episode_{index:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        grey = greys(index, 0, n)
        frames = (np.full((48, 64, 3), g, np.uint8) for g in grey)
        pictures.encode(
            folder / f"videos/chunk-000/{KEY}/episode_{index:06d}.mp4", frames, np.arange(n), FPS
        )
        begin += n
    joints = {"dtype": "float32", "shape": [6], "names": NAMES}
    image = {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"]}
    numbers = {
        key: {"dtype": dtype, "shape": [1], "names": None}
        for key, dtype in {
            "timestamp": "float32",
            "frame_index": "int64",
            "episode_index": "int64",
            "index": "int64",
            "task_index": "int64",
        }.items()
    }
    info = {
        "codebase_version": "v2.1",
        "robot_type": "so101",
        "total_episodes": len(lengths),
        "total_frames": begin,
        "total_tasks": 2,
        "total_videos": len(lengths),
        "total_chunks": 1,
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": VIDEO_PATH,
        "features": {"action": joints, "observation.state": joints, KEY: image, **numbers},
    }
    meta = folder / "meta"
    meta.mkdir()
    (meta / "info.json").write_text(json.dumps(info))
    lines = [{"task_index": i, "task": task} for i, task in enumerate(tasks)]
    _write_lines(meta / "tasks.jsonl", lines)
    _write_lines(
        meta / "episodes.jsonl",
        [{"episode_index": i, "tasks": [tasks[i % 2]], "length": n} for i, n in enumerate(lengths)],
    )


def _write_lines(path: Path, lines: list[dict]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
