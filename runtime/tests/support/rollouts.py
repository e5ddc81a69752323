"""What stands for the service in a reinforcement training: a record of rollouts, and a grader. Both may be killed."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.rollouts.prepare import RolloutPlan
from anneal_runtime.trainer.rollouts.record import Line
from support.training import Training

Key = tuple[str, int, int, int]


class Killed(BaseException):
    pass


def method(**hyperparameters: Any) -> Method:
    usual = {"samples_per_prompt": 4, "max_completion_tokens": 10, "eval_samples": 2}
    return Method.from_json(
        {"type": "reinforcement", "reinforcement": {"hyperparameters": {**usual, **hyperparameters}}}
    )


def prompts(count: int) -> list[dict[str, Any]]:
    return [{"input": f"Question: What colour is Aurora Lamp {n}?\nAnswer: ", "item": {"n": n}} for n in range(count)]


@dataclass
class Service:
    """A repeat of a sample gets the stored grade, as the API gives it. `reached` is told of every call, before and
    after its work.
    """

    grade_one: Callable[[dict[str, Any], int], dict[str, Any]]
    graders: list[str] = field(default_factory=lambda: ["short"])
    files: dict[tuple[int, str], list[Line]] = field(default_factory=dict)
    stored: dict[Key, dict[str, Any]] = field(default_factory=dict)
    graded: Counter[Key] = field(default_factory=Counter)
    calls: list[str] = field(default_factory=list)
    reached: Callable[[str], None] = lambda _event: None

    def plan(self) -> RolloutPlan:
        return RolloutPlan(self, self, self.graders)

    def find(self, step: int, name: str) -> list[Line] | None:
        return self.files.get((step, name))

    def commit(self, step: int, name: str, lines: list[Line]) -> None:
        self._reach(f"before {name} of {step}")
        self.files.setdefault((step, name), lines)
        self._reach(f"after {name} of {step}")

    def grade(self, step: int, split: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        self._reach(f"before grades of {split} {step}")
        found = []
        for sample in samples:
            key = (split, step, sample["row"], sample["index"])
            if key not in self.stored:
                self.graded[key] += 1
                self.stored[key] = {**self.grade_one(sample, len(self.stored)), "row": key[2], "index": key[3]}
            found.append(self.stored[key])
        self._reach(f"after grades of {split} {step}")
        return {"graded": found, "waiting": [], "waiting_for": None}

    def _reach(self, event: str) -> None:
        self.calls.append(event)
        self.reached(event)


def reward(value: float | None, **grades: float | None) -> dict[str, Any]:
    error = {"grader": "short", "kind": "other", "message": "It broke."} if value is None else None
    return {"reward": value, "grades": grades or {"short": value}, "error": error}


def moody(_sample: dict[str, Any], before: int) -> dict[str, Any]:
    """Answers differently each time that it is asked."""
    return reward(random.Random(before).random())


def by_letter(sample: dict[str, Any], _before: int) -> dict[str, Any]:
    """Differs from answer to answer."""
    return reward(ord(sample["text"][-1:] or "a") % 7 / 7)


def without_times(training: Training) -> dict[int, dict[str, Any]]:
    return {step: _without_times(row) for step, row in sorted(training.rows.items())}


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    timed = ("iter_time", "remaining_time", "tokens_per_second")
    series = {name: value for name, value in row["series"].items() if not name.startswith("step_seconds/")}
    return {**{name: value for name, value in row.items() if name not in timed}, "series": series}


def run_killed_once(event: str, run: Callable[..., Training], service: Service, training: Training) -> Training:
    """A first attempt that is killed at the event, and one that goes on from its newest checkpoint."""

    def kill(reached: str) -> None:
        if reached == event:
            service.reached = lambda _event: None
            raise Killed

    service.reached = kill
    try:
        run(training=training, rollouts=service.plan())
    except Killed:
        pass
    else:
        raise AssertionError(f"{event} was not reached: {service.calls}")
    newest = max(training.checkpoints, default=0)
    training.rows = {step: row for step, row in training.rows.items() if step <= newest}
    return run(training=training, rollouts=service.plan(), checkpoint=training.checkpoints.get(newest))
