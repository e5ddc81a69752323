"""What a step has sampled and how that was graded, as lines of files that are committed one by one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Literal, Protocol

from anneal_runtime.internal_api import InternalApi
from anneal_runtime.trainer.artifacts import publish
from anneal_runtime.trainer.assignment import Assignment, Claim, fetch
from anneal_runtime.trainer.failures import RolloutsLost

Split = Literal["train", "held_out"]
Line = dict[str, Any]

SAMPLES: dict[Split, str] = {"train": "samples.jsonl", "held_out": "valid_samples.jsonl"}
REWARDS: dict[Split, str] = {"train": "rewards.jsonl", "held_out": "valid_rewards.jsonl"}


class Record(Protocol):
    """The first file of a step and a name is the record, and stays it."""

    def find(self, step: int, name: str) -> list[Line] | None:
        """The lines of a committed file."""

    def commit(self, step: int, name: str, lines: list[Line]) -> None:
        """Returns once they count."""


class JobRecord:
    """Committed files as artifacts of the job; those of earlier attempts are listed in the claim."""

    def __init__(self, api: InternalApi, work_dir: Path, assignment: Assignment, claim: Claim) -> None:
        self._api, self._folder, self._assignment, self._claim = api, work_dir / "rollouts", assignment, claim
        self._known = {(each.step, file.name) for each in assignment.rollouts for file in each.files}

    def find(self, step: int, name: str) -> list[Line] | None:
        if (step, name) not in self._known:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        fetch(lambda current: current.rollout_files(step, name), self._folder, self._assignment, self._claim)
        path = self._folder / name
        if not path.exists():
            raise RolloutsLost(f"The file {name} of step {step} was committed, and the service has it no more.")
        # Not splitlines, which takes more characters for the end of a line.
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        path.unlink()
        return lines

    def commit(self, step: int, name: str, lines: list[Line]) -> None:
        folder = self._folder / f"{step}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{_json(line)}\n" for line in lines), encoding="utf-8")
        publish(self._api, "rollouts", step, folder, before_commit=_nothing_first)
        shutil.rmtree(folder)


def rounded(logps: list[float]) -> list[float]:
    """With as many digits as a number in fp32 needs."""
    return [float(f"{logp:.9g}") for logp in logps]


def _json(line: Line) -> str:
    return json.dumps(line, separators=(",", ":"))


def _nothing_first() -> None:
    """Reports may come later: the record does not depend on them."""
