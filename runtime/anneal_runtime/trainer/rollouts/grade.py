"""Has the service grade samples, and waits for graders that are away."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from anneal_runtime.trainer.failures import GraderAway, GraderFailed
from anneal_runtime.trainer.rollouts.record import Line, Split
from anneal_runtime.trainer.rollouts.waiting import pulsing, wait
from anneal_runtime.trainer.training_args import Note

LARGEST_CALL = 256
LARGEST_BODY = 8_000_000
MOST_CHARACTERS = 1_000_000
# An attempt that only waits gives its place to others after so long.
PATIENCE_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0

Key = tuple[int, int]


class GradingApi(Protocol):
    def grade(self, step: int, split: str, samples: list[dict[str, Any]]) -> dict[str, Any]: ...


@dataclass
class Grading:
    """`on_error` is the job's on_grader_error."""

    api: GradingApi
    on_error: str
    note: Note
    told: set[str] = field(default_factory=set)

    def grade(self, step: int, split: Split, groups: list[Line], pulse: Callable[[], None]) -> list[Line]:
        """A line for each group. `pulse` is called while graders are waited for; what it raises ends the waiting."""
        asked = {
            (group["row"], sample["index"]): _asked(group, sample) for group in groups for sample in group["samples"]
        }
        found: dict[Key, dict[str, Any]] = {}
        pause_s, last_gain = FIRST_PAUSE_S, time.monotonic()
        while waiting := [key for key in asked if key not in found]:
            before = len(found)
            for chunk in _chunks([asked[key] for key in waiting]):
                answer = pulsing(partial(self.api.grade, step, split, chunk), pulse)
                found |= {(each["row"], each["index"]): each for each in answer["graded"]}
                self._tell(answer["waiting_for"])
                pulse()
            now = time.monotonic()
            if len(found) > before:
                pause_s, last_gain = FIRST_PAUSE_S, now
            elif now - last_gain > PATIENCE_S:
                raise GraderAway(f"The graders have not answered for a minute. {answer['waiting_for'] or ''}".strip())
            if len(found) < len(asked):
                wait(pause_s, pulse)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return [self._line(group, found) for group in groups]

    def _tell(self, sentence: str | None) -> None:
        if sentence is not None and sentence not in self.told:
            self.told.add(sentence)
            self.note("waiting_for_grader", sentence)

    def _line(self, group: Line, found: dict[Key, dict[str, Any]]) -> Line:
        grades = [found[group["row"], sample["index"]] for sample in group["samples"]]
        missing = 0.0 if self.on_error == "zero" else None
        return {
            "row": group["row"],
            "rewards": [missing if each["reward"] is None else each["reward"] for each in grades],
            "grades": [each["grades"] for each in grades],
            "errors": [_error(each) for each in grades],
        }


def check_graded(step: int, groups: list[Line], graded: list[Line], on_error: str) -> None:
    """Raises GraderFailed when the job is to end for its grader."""
    errors, count = errors_of(groups, graded), sum(len(line["errors"]) for line in graded)
    if errors and (on_error == "fail" or 2 * len(errors) > count):
        raise GraderFailed(f"{len(errors)} of {count} samples of step {step} have no score. {said(*errors[0])}")


def errors_of(groups: list[Line], graded: list[Line]) -> list[tuple[Line, Line]]:
    """Each with its sample."""
    return [
        (error, sample)
        for group, line in zip(groups, graded, strict=True)
        for error, sample in zip(line["errors"], group["samples"], strict=True)
        if error is not None
    ]


def said(error: Line, sample: Line) -> str:
    """The first error, for people."""
    shown = sample["text"] if len(sample["text"]) <= 200 else f"{sample['text'][:200]}…"
    return f'The grader "{error["grader"]}": {error["message"]} ({error["kind"]}). The sample: {shown!r}'


def _error(graded: dict[str, Any]) -> dict[str, Any] | None:
    if graded["reward"] is not None:
        return None
    unknown = {"grader": "", "kind": "other", "message": "It gave no reward."}
    return graded["error"] or unknown


def _asked(group: Line, sample: Line) -> dict[str, Any]:
    return {
        "row": group["row"],
        "index": sample["index"],
        "text": sample["text"][:MOST_CHARACTERS],
        "tool_calls": sample["tool_calls"],
        "finish_reason": sample["finish_reason"],
        "tokens": len(sample["tokens"]),
        "item": group["item"],
    }


def _chunks(samples: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk, size = list[dict[str, Any]](), 0
    for sample in samples:
        length = len(json.dumps(sample))
        if chunk and (len(chunk) == LARGEST_CALL or size + length > LARGEST_BODY):
            yield chunk
            chunk, size = [], 0
        chunk.append(sample)
        size += length
    if chunk:
        yield chunk
