"""`meta/info.json`: what a dataset says about itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueup.episodes.storage import layout
from trueup.episodes.storage.files import write_text
from trueup.errors import TrueupError

V2, V3 = "v2", "v3.0"


class _Feature(BaseModel):
    """One column of the frames, as LeRobot declares it; more fields may stand beside these."""

    model_config = ConfigDict(extra="allow")
    dtype: str
    shape: list[Annotated[int, Field(ge=0)]]
    names: Any = None


class _Stored(BaseModel):
    model_config = ConfigDict(extra="allow")
    codebase_version: str
    fps: Annotated[float, Field(gt=0)]
    features: dict[str, _Feature]
    total_episodes: int = 0
    total_frames: int = 0
    robot_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class Info:
    """What a dataset says about itself.

    Attributes:
        version: Of LeRobot's format: v3.0, v2.1 or v2.0.
        fps: Frames a second, as meant.
        features: Columns of a frame by LeRobot's key, as LeRobot declares them.
        total_episodes: What the file says; the committed rows are what counts.
        total_frames: As above.
        robot_type: Which robot, where it is said.
        stored: The whole file.
    """

    version: str
    fps: float
    features: dict[str, dict[str, Any]]
    total_episodes: int
    total_frames: int
    robot_type: str | None
    stored: dict[str, Any]

    @property
    def kind(self) -> Literal["v2", "v3"]:
        """Which of the two layouts."""
        return "v3" if self.version.startswith("v3.") else "v2"

    @classmethod
    def read(cls, folder: Path) -> Info | None:
        """The file of a dataset; none where there is none."""
        path = folder / layout.INFO
        if not path.is_file():
            return None
        stored = read_json(path)
        try:
            model = _Stored.model_validate(stored)
        except ValidationError as error:
            raise TrueupError(
                f"{path} does not describe a dataset: {first_fault(error)}.",
                fix="Take the file again from where the dataset was made.",
            ) from error
        if not model.codebase_version.startswith(("v2.", "v3.")):
            raise TrueupError(
                f"{path} says that its format is {model.codebase_version}; trueup reads LeRobot's "
                "v2.0, v2.1 and v3.0.",
                fix="Convert it with LeRobot's own tools first.",
            )
        return cls(
            version=model.codebase_version,
            fps=model.fps,
            features={key: _plain(feature) for key, feature in stored["features"].items()},
            total_episodes=model.total_episodes,
            total_frames=model.total_frames,
            robot_type=model.robot_type,
            stored=stored,
        )

    def write(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps(self.stored, indent=4, ensure_ascii=False)
        write_text(folder / layout.INFO, text)


def new_info(
    features: dict[str, dict[str, Any]],
    *,
    fps: float,
    robot_type: str | None,
    episodes: int = 0,
    frames: int = 0,
    tasks: int = 0,
    before: Info | None = None,
) -> Info:
    """The description of a v3.0 dataset; fields of an older one that we do not know stay."""
    has_video = any(feature["dtype"] == "video" for feature in features.values())
    stored: dict[str, Any] = {
        "codebase_version": V3,
        "robot_type": robot_type,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": tasks,
        "chunks_size": layout.FILES_PER_CHUNK,
        "data_files_size_in_mb": layout.DATA_LIMIT_MB,
        "video_files_size_in_mb": layout.VIDEO_LIMIT_MB,
        "fps": int(fps) if fps == int(fps) else fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": layout.DATA_PATH,
        "video_path": layout.VIDEO_PATH if has_video else None,
        "features": features,
    }
    if before is not None:
        totals = ("total_episodes", "total_frames", "total_tasks", "splits", "features")
        stored = {**stored, **before.stored, **{name: stored[name] for name in totals}}
    return Info(
        version=V3,
        fps=float(fps),
        features=features,
        total_episodes=episodes,
        total_frames=frames,
        robot_type=stored["robot_type"],
        stored=stored,
    )


def read_json(path: Path) -> Any:
    """A JSON file, or the sentence that says why not."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise TrueupError(
            f"{path} is not JSON: {error}.", fix="Take it again from where the dataset was made."
        ) from error
    except OSError as error:
        raise TrueupError(
            f"{path} could not be read: {error.strerror}.", fix="Check the path and its permission."
        ) from error


def first_fault(error: ValidationError) -> str:
    """The first thing that a check did not like, with its place."""
    fault = error.errors()[0]
    where = ".".join(str(part) for part in fault["loc"]) or "the whole"
    return f"{where}: {fault['msg'][0].lower()}{fault['msg'][1:]}"


def _plain(feature: dict[str, Any]) -> dict[str, Any]:
    return {**feature, "shape": [int(side) for side in feature["shape"]]}
