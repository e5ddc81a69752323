"""Samples on their way to the graders, and what their errors do to a training."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rollouts import Service, Training, by_letter, method, prompts, reward
from support.training import train

from anneal_runtime.trainer import failures
from anneal_runtime.trainer.mixed_order import Sources
from anneal_runtime.trainer.rollouts import grade
from anneal_runtime.trainer.rollouts.grade import Grading

SAMPLE = {"tokens": [1, 2], "text": "Ja.", "tool_calls": None, "finish_reason": "stop"}
GROUPS = [{"row": row, "item": {"n": row}, "samples": [{**SAMPLE, "index": k} for k in range(100)]} for row in range(4)]


def go_on() -> None:
    pass


def run(folder: Path, service: Service, held_out: int = 0, *, of_method: dict[str, Any], **args: Any) -> Training:
    usual = {"max_steps": 8, "batch_size": 2, "eval_steps": 4}
    rows = prompts(4 + held_out)
    how = method(**of_method)
    return train(folder, rows[:4], rows[4:] or None, method=how, rollouts=service.plan(), **{**usual, **args})


def broken(numbers: Callable[[int], bool]) -> Callable[[dict[str, Any], int], dict[str, Any]]:
    return lambda sample, before: reward(None) if numbers(before) else by_letter(sample, before)


class Slow:
    """Grades one sample a call; the others wait."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.done: dict[tuple[int, int], dict[str, Any]] = {}

    def grade(self, _step: int, _split: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        self.sizes.append(len(samples))
        half = samples[: max(len(samples) // 2, 1)]
        graded = [{"row": each["row"], "index": each["index"], **reward(each["row"])} for each in half]
        return {"graded": graded, "waiting": [], "waiting_for": "A judge starts."}


def test_samples_are_asked_for_in_bounded_calls_until_all_are_graded() -> None:
    api, notes = Slow(), list[str]()
    graded = Grading(api, "skip", lambda _code, message: notes.append(message)).grade(1, "train", GROUPS, go_on)
    assert [line["rewards"] for line in graded] == [[row] * 100 for row in range(4)]
    assert max(api.sizes) == 256 and api.sizes[-1] == 1
    assert notes == ["A judge starts."], "told once"


def test_a_call_has_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "LARGEST_BODY", 2000)
    api = Slow()
    Grading(api, "skip", lambda _code, _message: None).grade(1, "train", GROUPS[:1], go_on)
    assert 1 < max(api.sizes) < 30


def test_an_attempt_that_only_waits_saves_its_steps_and_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "PATIENCE_S", 0.3)
    service, training = Service(by_letter), Training(tmp_path)
    give = service.grade

    def away(step: int, split: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        return (
            give(step, split, samples) if step < 4 else {"graded": [], "waiting": [], "waiting_for": "A judge starts."}
        )

    monkeypatch.setattr(service, "grade", away)
    with pytest.raises(failures.GraderAway, match=r"A judge starts\.") as left:
        run(tmp_path, service, of_method={}, training=training)
    assert failures.explain(left.value)[0] == "grader_away"
    assert list(training.checkpoints) == [3] and (4, "samples.jsonl") in service.files


@pytest.mark.parametrize(("on_error", "lost"), [("skip", None), ("zero", 0.0)])
def test_an_answer_without_a_score_is_left_out_or_worth_nothing(
    tmp_path: Path, on_error: str, lost: float | None
) -> None:
    service = Service(broken(lambda before: before % 4 == 1))
    training = run(tmp_path, service, of_method={"on_grader_error": on_error})
    for line in service.files[2, "rewards.jsonl"]:
        assert line["rewards"][1] == lost and line["errors"][1]["message"] == "It broke."
        assert (line["advantages"][1] == 0) == (on_error == "skip")
    assert training.rows[2]["series"]["frac_reward_unscored"] == 0.25
    assert training.rows[2]["series"]["rewards/short/unscored"] == 0.25
    assert "25.0% of the answers" in training.notes["grader_errors"]
    assert "Step 1" in training.notes["grader_errors"] and "The sample" in training.notes["grader_errors"]


@pytest.mark.parametrize(
    ("on_error", "numbers", "sentence"),
    [
        ("skip", lambda before: before % 8 < 5, r"5 of 8 samples of step 1 have no score.*It broke"),
        ("zero", lambda before: before % 8 < 5, r"5 of 8 samples"),
        ("fail", lambda before: before == 9, r"1 of 8 samples of step 2"),
        # Half of each group is lost, and the rest has one reward.
        ("skip", lambda before: before % 2 == 0, r"In 3 batches of answers in a row, up to step 3"),
    ],
)
def test_a_job_ends_for_a_grader_that_fails_too_often(
    tmp_path: Path, on_error: str, numbers: Callable[[int], bool], sentence: str
) -> None:
    service = Service(lambda _sample, before: reward(None if numbers(before) else 0.5))
    training = Training(tmp_path)
    with pytest.raises(failures.GraderFailed, match=sentence) as ended:
        run(tmp_path, service, of_method={"on_grader_error": on_error}, training=training)
    assert failures.explain(ended.value)[0] == "grader_failed"


def test_the_held_out_reward_keeps_the_best_step_and_stops_early(tmp_path: Path) -> None:
    # Held-out answers are worth less at each validation.
    service = Service(
        lambda sample, before: reward(1 / (1 + before)) if sample["item"]["n"] >= 4 else by_letter(sample, before)
    )
    early = {"early_stopping": {"patience": 2, "min_delta": 0.0}, "eval_steps": 1, "keep": "best", "save_steps": 2}
    training = run(tmp_path, service, 3, of_method={}, **early)
    assert training.model_step == 1 and max(training.rows) == 3
    assert training.rows[1]["series"]["valid_reward"] > training.rows[2]["series"]["valid_reward"]
    assert training.rows[1]["valid_rows"] == 3
    assert "did not raise the held-out reward. The best held-out reward was" in training.notes["stopped_early"]
    assert "loss" not in training.notes["stopped_early"] + training.notes["best_kept"]


def test_a_validation_in_which_a_set_has_no_score_is_no_best_step(tmp_path: Path) -> None:
    """A mean of the other sets alone would compare with no other validation."""
    scored = {"b": 0}

    def grade_one(sample: dict[str, Any], before: int) -> dict[str, Any]:
        number = sample["item"]["n"]
        if number != 8:
            return by_letter(sample, before) if number < 4 else reward(0.9)
        # Both answers of the first validation get no score.
        scored["b"] += 1
        return reward(None if scored["b"] <= 2 else 0.1)

    rows = [{**row, "source": int(n in (1, 3, 8))} for n, row in enumerate(prompts(9))]
    args: dict[str, Any] = {"max_steps": 4, "batch_size": 2, "eval_steps": 2, "keep": "best"}
    plan, sources = Service(grade_one).plan(), Sources(["a", "b"], [1.0, 1.0])
    training = train(tmp_path, rows[:4], rows[4:], method=method(), rollouts=plan, sources=sources, **args)
    assert training.rows[2]["series"]["valid_reward"] is None
    assert training.rows[2]["series"]["valid_reward/a"] == pytest.approx(0.9)
    assert training.rows[4]["series"]["valid_reward"] == pytest.approx(0.5)
    assert training.model_step == 4


def test_equal_rewards_cost_no_pass_and_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_arguments: object, **_named: object) -> None:
        raise AssertionError("a backward pass")

    monkeypatch.setattr("torch.autograd.backward", never)
    training = run(tmp_path, Service(lambda _sample, _before: reward(0.1)), of_method={}, eval_steps=2)
    assert training.rows[8]["series"]["frac_reward_zero_std"] == 1
    assert "no_signal" in training.notes


def test_rewards_may_be_whole_numbers(tmp_path: Path) -> None:
    training = run(tmp_path, Service(lambda _sample, before: reward(before % 2)), of_method={}, max_steps=1)
    assert training.rows[1]["series"]["reward"] == 0.5
