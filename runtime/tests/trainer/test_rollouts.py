"""A training on sampled answers: what is committed is never sampled or graded again, whenever it is killed."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from support.rollouts import Service, Training, method, moody, prompts, run_killed_once, without_times
from support.training import train

from anneal_runtime.trainer.failures import RolloutsLost
from anneal_runtime.trainer.mixed_order import Sources

ARGS = {"max_steps": 6, "save_steps": 3, "batch_size": 2, "eval_steps": 3, "lora_dropout": 0.1, "keep": "best"}

SETS = {"one": None, "two": Sources(["a", "b"], [3.0, 1.0])}


def runner(folder: Path, sources: Sources | None = None) -> Callable[..., Training]:
    """Two updates on the same answers, so that the checkpoint of step 3 falls between them. Two data sets have three
    and two prompts, and two and one held-out ones.
    """

    def run(**of_attempt: object) -> Training:
        how = method(num_iterations=2, kl_coefficient=0.1)
        # The model is held near the adapter that it begins from, not near that of a checkpoint.
        start = Path(__file__).parent / "trl" / "start-adapter"
        rows = prompts(8)
        if sources is not None:
            rows = [{**row, "source": source} for row, source in zip(rows, (0, 0, 0, 1, 1, 0, 0, 1), strict=True)]
        more: dict[str, Any] = {**ARGS, "start": start, "sources": sources, **of_attempt}
        return train(folder, rows[:5], rows[5:], method=how, **more)

    return run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Service, Training]]:
    @cache
    def run(sets: str = "one") -> tuple[Service, Training]:
        service, folder = Service(moody), tmp_path_factory.mktemp("whole")
        return service, runner(folder, SETS[sets])(rollouts=service.plan())

    return run


EVENTS = [
    *("before samples.jsonl of 3", "after samples.jsonl of 3", "before grades of train 3", "after grades of train 3"),
    *("before rewards.jsonl of 3", "after rewards.jsonl of 3"),
    *("before valid_samples.jsonl of 3", "after valid_samples.jsonl of 3"),
    *("before valid_rewards.jsonl of 3", "after valid_rewards.jsonl of 3"),
    *("before samples.jsonl of 5", "after samples.jsonl of 1", "after grades of held_out 6"),
]


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("event", EVENTS)
def test_a_kill_changes_no_byte_and_grades_nothing_twice(
    event: str, sets: str, tmp_path: Path, undisturbed: Callable[..., tuple[Service, Training]]
) -> None:
    service, training = Service(moody), Training(tmp_path)
    resumed = run_killed_once(event, runner(tmp_path, SETS[sets]), service, training)
    expected_service, expected = undisturbed(sets)
    assert set(service.graded.values()) == {1}
    commits = Counter(call for call in service.calls if call.startswith("before") and "jsonl" in call)
    assert {call for call, times in commits.items() if times > 1} <= {event}
    assert service.files == expected_service.files
    assert without_times(resumed) == without_times(expected)
    assert resumed.weights.keys() == expected.weights.keys()
    assert all(torch.equal(resumed.weights[name], value) for name, value in expected.weights.items())


def test_answers_that_are_gone_are_not_sampled_by_a_later_policy(
    tmp_path: Path, undisturbed: Callable[[], tuple[Service, Training]]
) -> None:
    _, training = undisturbed()
    with pytest.raises(RolloutsLost, match="step 3 has sampled are gone"):
        runner(tmp_path)(rollouts=Service(moody).plan(), checkpoint=training.checkpoints[3])


def test_a_step_has_the_figures_of_its_answers(undisturbed: Callable[[], tuple[Service, Training]]) -> None:
    service, training = undisturbed()
    assert sorted(service.files) == sorted(
        [(step, name) for step in (1, 3, 5) for name in ("samples.jsonl", "rewards.jsonl")]
        + [(step, name) for step in (3, 6) for name in ("valid_samples.jsonl", "valid_rewards.jsonl")]
    )
    series = training.rows[1]["series"]
    rewards = [reward for line in service.files[1, "rewards.jsonl"] for reward in line["rewards"]]
    assert len(rewards) == 8 and series["reward"] == pytest.approx(sum(rewards) / 8, abs=1e-6)
    assert series["rewards/short/mean"] == series["reward"]
    samples = [sample for line in service.files[1, "samples.jsonl"] for sample in line["samples"]]
    assert series["completions/mean_length"] == sum(len(sample["tokens"]) for sample in samples) / 8
    assert training.rows[3]["series"]["valid_reward"] > 0 and "valid_loss" not in training.rows[3]
    assert training.rows[2]["series"]["reward"] == series["reward"], "the second update on the same answers"


def test_each_set_has_its_held_out_reward_and_the_mean_is_by_weight(
    undisturbed: Callable[..., tuple[Service, Training]],
) -> None:
    service, training = undisturbed("two")
    assert [line["row"] for line in service.files[3, "valid_rewards.jsonl"]] == [0, 1, 2]
    *of_a, of_b = ([*line["rewards"]] for line in service.files[3, "valid_rewards.jsonl"])
    a, b = sum(map(sum, of_a)) / 4, sum(of_b) / 2
    series = training.rows[3]["series"]
    assert (series["valid_reward/a"], series["valid_reward/b"]) == pytest.approx((a, b))
    assert series["valid_reward"] == pytest.approx(0.75 * a + 0.25 * b)
    visited = [[line["row"] < 3 for line in service.files[step, "samples.jsonl"]] for step in (1, 3, 5)]
    assert [is_of_a for step in visited for is_of_a in step] == [True, True, False, True, True]
    assert series["epoch/a"] + series["epoch/b"] > 0 and "a " in training.notes["data_sets_mixed"]
