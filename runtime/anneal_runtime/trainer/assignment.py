"""The attempt's assignment: the answer to its claim."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.log import log
from anneal_runtime.retry import DAY_S, Unavailable
from anneal_runtime.trainer.line_names import SUFFIX
from anneal_runtime.trainer.mixed_order import Sources
from anneal_runtime.transfer import CorruptFile, RemoteFile, UrlRefused, download

TRAIN_FILE, EVALUATION_FILE = "train.jsonl", "evaluation.jsonl"
FRESH_URL_TRIES = 5
LONGEST_PAUSE_S = 10.0


@dataclass(frozen=True)
class BaseModel:
    name: str
    source: dict[str, Any]
    sha256: str | None


@dataclass(frozen=True)
class Artifact:
    """A committed checkpoint or model, or rollouts of a step."""

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
    # None for the method supervised.
    method: dict[str, Any] | None
    # The rows, and the lines of the user's files that they come from.
    train: list[RemoteFile]
    evaluation: RemoteFile
    evaluation_lines: list[RemoteFile]
    # None for rows of one data set.
    sources: Sources | None
    evaluation_split: str
    evaluation_row_count: int
    # Limits of the evaluation at the end of the run; None where the job sets none.
    evaluation_max_rows: int | None
    evaluation_max_tokens: int | None
    # Rows without messages are asked as chats, with this system message.
    evaluation_as_chat: bool
    evaluation_system: str | None
    checkpoint: Artifact | None
    model: Artifact | None
    # Committed answers and rewards of reinforcement that the attempt may need.
    rollouts: list[Artifact]
    # The names of the graders of reinforcement.
    graders: list[str]
    # The form of their answers.
    grammar: str | None
    # The adapter of the tuned model that the training begins from; empty when it begins from the base.
    start: list[RemoteFile]

    @property
    def has_held_out_rows(self) -> bool:
        """Otherwise the evaluation rows are training rows, whose loss says nothing about new ones."""
        return self.evaluation_split == "held_out" and self.evaluation_row_count > 0

    @property
    def trains_in_4bit(self) -> bool:
        return self.mode != "evaluate" and bool(self.args.get("load_in_4bit"))

    @property
    def shard_base(self) -> bool | str:
        """The argument of this name."""
        asked: bool | str = self.args.get("shard_base", DEFAULT_ARGS["shard_base"])
        return asked

    def rollout_files(self, step: int, name: str) -> list[RemoteFile]:
        return [file for each in self.rollouts if each.step == step for file in each.files if file.name == name]

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Assignment":
        """`raw` is an answer that the contract has checked."""
        base, train, evaluation = raw["base_model"], raw["data"]["train"], raw["data"]["evaluation"]
        asked = raw.get("evaluation", {})
        return cls(
            job_id=raw["job_id"],
            attempt=raw["attempt"],
            mode=raw["mode"],
            base_model=BaseModel(base["name"], base["source"], base["sha256"]),
            spec_hash=raw["spec_hash"],
            args=raw["args"],
            method=raw.get("method"),
            train=[RemoteFile.from_json(train, TRAIN_FILE), *_lines(train, TRAIN_FILE)],
            evaluation=RemoteFile.from_json(evaluation, EVALUATION_FILE),
            evaluation_lines=_lines(evaluation, EVALUATION_FILE),
            sources=Sources.from_json(raw["data"]),
            evaluation_split=evaluation["split"],
            evaluation_row_count=evaluation["rows"],
            evaluation_max_rows=asked.get("max_rows"),
            evaluation_max_tokens=asked.get("max_tokens"),
            evaluation_as_chat=asked.get("as_chat", False),
            evaluation_system=asked.get("system"),
            checkpoint=_artifact(raw["checkpoint"]),
            model=_artifact(raw["model"]),
            rollouts=[Artifact(each["step"], _files(each)) for each in raw.get("rollouts", [])],
            graders=raw.get("grader", {"names": []})["names"],
            grammar=raw.get("grammar"),
            start=_files(raw.get("start", {"files": []})),
        )


Claim = Callable[[], Assignment]


Work = TypeVar("Work")


def fetch(files: Callable[[Work], list[RemoteFile]], folder: Path, assignment: Work, claim: Callable[[], Work]) -> None:
    """Downloads the files into the folder; claims again for fresh URLs. A store that is away is waited for a day."""
    arrived: set[str] = set()
    give_up_at, claims, bad_answers = time.monotonic() + DAY_S, 0, 0
    while True:
        try:
            for file in files(assignment):
                if file.name not in arrived:
                    download(file, folder / file.name)
                    arrived.add(file.name)
            return
        except (UrlRefused, CorruptFile) as error:
            bad_answers += 1
            if bad_answers == FRESH_URL_TRIES:
                raise
            log(f"{error} Claiming again for fresh URLs.")
        except Unavailable as error:
            if time.monotonic() > give_up_at:
                raise
            log(f"{error} Claiming again for fresh URLs.")
        time.sleep(min(2**claims, LONGEST_PAUSE_S))
        claims += 1
        assignment = claim()


def _lines(raw: dict[str, Any], name: str) -> list[RemoteFile]:
    """None for a job of an older release."""
    return [RemoteFile.from_json(raw["lines"], name + SUFFIX)] if "lines" in raw else []


def _artifact(raw: dict[str, Any] | None) -> Artifact | None:
    if raw is None:
        return None
    return Artifact(raw["step"], _files(raw))


def _files(raw: dict[str, Any]) -> list[RemoteFile]:
    return [RemoteFile.from_json(file) for file in raw["files"]]
