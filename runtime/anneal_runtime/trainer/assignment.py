"""What an attempt is told to do: the answer to its claim."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anneal_runtime.log import log
from anneal_runtime.retry import Unavailable
from anneal_runtime.transfer import RemoteFile, UrlRefused, download

FRESH_URL_TRIES = 5


@dataclass(frozen=True)
class BaseModel:
    name: str
    source: dict[str, Any]
    sha256: str | None


@dataclass(frozen=True)
class Artifact:
    """A committed checkpoint or model."""

    step: int
    files: list[RemoteFile]


@dataclass(frozen=True)
class Assignment:
    job_id: int
    attempt: int
    mode: str
    base_model: BaseModel
    spec_hash: str
    args: dict[str, Any]
    train: RemoteFile
    evaluation: RemoteFile | None
    evaluation_split: str
    checkpoint: Artifact | None
    model: Artifact | None

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Assignment":
        base, evaluation = raw["base_model"], raw["data"].get("evaluation")
        return cls(
            job_id=raw["job_id"],
            attempt=raw["attempt"],
            mode=raw["mode"],
            base_model=BaseModel(base["name"], base["source"], base.get("sha256")),
            spec_hash=raw["spec_hash"],
            args=raw["args"],
            train=RemoteFile.from_json(raw["data"]["train"], "train.jsonl"),
            evaluation=RemoteFile.from_json(evaluation, "evaluation.jsonl") if evaluation else None,
            evaluation_split=evaluation["split"] if evaluation else "held_out",
            checkpoint=_artifact(raw.get("checkpoint")),
            model=_artifact(raw.get("model")),
        )


Claim = Callable[[], Assignment]


def fetch(files: Callable[[Assignment], list[RemoteFile]], folder: Path, assignment: Assignment, claim: Claim) -> None:
    """Downloads the files into the folder; claims again for fresh URLs when the old ones have expired."""
    arrived: set[str] = set()
    for tries_left in reversed(range(FRESH_URL_TRIES)):
        try:
            for file in files(assignment):
                if file.name not in arrived:
                    download(file, folder / file.name)
                    arrived.add(file.name)
            return
        except (UrlRefused, Unavailable) as error:
            if not tries_left:
                raise
            log(f"{error} Asking for fresh addresses.")
            assignment = claim()


def _artifact(raw: dict[str, Any] | None) -> Artifact | None:
    if raw is None:
        return None
    return Artifact(raw.get("step", 0), [RemoteFile.from_json(file) for file in raw["files"]])
