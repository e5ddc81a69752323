"""Attempts of a reinforcement job as processes: killed, stopped, alone and two together."""

import json
import signal
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.assignments import assign_sampling, resume
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

from anneal_runtime.internal_api import InternalApi
from anneal_runtime.trainer.assignment import Assignment
from anneal_runtime.trainer.failures import RolloutsLost
from anneal_runtime.trainer.rollouts.record import JobRecord

MOST_STEPS = 8
Outcome = tuple[list[Any], bytes, dict[str, bytes]]


def outcome(anneal: FakeAnneal) -> Outcome:
    """Figures of each step but times, weights, and the files of rollouts."""
    series = [
        {name: value for name, value in row["series"].items() if not name.startswith("step_seconds/")}
        for _, row in sorted(anneal.steps.items())
    ]
    rollouts = {
        f"{each['step']} {file['name']}": anneal.objects[f"{each['id']}/{file['name']}"]
        for each in anneal.committed
        if each["kind"] == "rollouts"
        for file in each["files"]
    }
    return series, anneal.content("model")["adapter_model.safetensors"], rollouts


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outcome]:
    @cache
    def run(processes: str, rollouts: str = "inline") -> Outcome:
        anneal = FakeAnneal(assignment={}).start()
        assign_sampling(anneal, 9, max_steps=MOST_STEPS, rollouts=rollouts)
        trainer = start_trainer(anneal.url, tmp_path_factory.mktemp("whole"), ANNEAL_PROCESSES=processes)
        assert trainer.exit_code() == 0, trainer.log
        anneal.stop()
        return outcome(anneal)

    return run


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_attempt_that_ends_while_a_grader_is_away_changes_nothing(
    anneal: FakeAnneal, tmp_path: Path, undisturbed: Callable[..., Outcome], processes: str, number: int
) -> None:
    assign_sampling(anneal, 9, max_steps=MOST_STEPS)
    first = start_trainer(anneal.url, tmp_path / "first", ANNEAL_PROCESSES=processes)
    anneal.wait_for(lambda: 4 in anneal.steps)
    anneal.grader_away = True
    anneal.wait_for(lambda: any(note["code"] == "waiting_for_grader" for note in anneal.notes))
    first.signal(number)
    assert first.exit_code() == (143 if number == signal.SIGTERM else -signal.SIGKILL), first.log
    if number == signal.SIGTERM:
        # The steps before the one that waits are saved.
        assert (anneal.artifact("checkpoint") or {})["step"] == max(anneal.steps)

    resume(anneal)
    anneal.grader_away = False
    second = start_trainer(anneal.url, tmp_path / "second", ANNEAL_PROCESSES=processes)
    assert second.exit_code() == 0, second.log
    assert set(anneal.graded.values()) == {1}
    assert outcome(anneal) == undisturbed(processes)


@pytest.mark.parametrize(("call", "rollouts"), [("grade", "inline"), ("sample", "server")])
def test_sigterm_does_not_wait_for_an_answer_of_the_service(
    anneal: FakeAnneal, tmp_path: Path, undisturbed: Callable[..., Outcome], call: str, rollouts: str
) -> None:
    assign_sampling(anneal, 9, max_steps=MOST_STEPS, rollouts=rollouts)
    first = start_trainer(anneal.url, tmp_path / "first")
    anneal.wait_for(lambda: 4 in anneal.steps)
    before, answered = anneal.calls.count(call), threading.Event()
    anneal.unanswered[call] = answered
    anneal.wait_for(lambda: anneal.calls.count(call) > before)
    first.signal(signal.SIGTERM)
    assert first.exit_code() == 143, first.log
    assert (anneal.artifact("checkpoint") or {})["step"] == max(anneal.steps)

    answered.set()
    resume(anneal)
    second = start_trainer(anneal.url, tmp_path / "second")
    assert second.exit_code() == 0, second.log
    assert outcome(anneal) == undisturbed("1", rollouts)


def test_the_evaluation_has_both_answers_to_each_prompt_and_what_graders_read(
    anneal: FakeAnneal, tmp_path: Path
) -> None:
    assign_sampling(anneal, 9, max_steps=2)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert anneal.evaluation is not None
    results = anneal.evaluation["results"]
    assert [result["item"] for result in results] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert all(result["expected"] == "" and result["tuned"] and result["base"] for result in results)


def test_a_record_holds_any_text_and_says_when_it_is_gone(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign_sampling(anneal, 3)

    def record() -> JobRecord:
        return JobRecord(InternalApi(anneal.url, anneal.token), tmp_path, claim(), claim)

    def claim() -> Assignment:
        return Assignment.from_json({**anneal.assignment, "rollouts": anneal.rollouts(after=0)})

    lines = [{"row": 0, "text": "\u2028 and \x85 and \ud800 \n"}, {"row": 1, "logps": [-0.10000000149011612]}]
    record().commit(1, "samples.jsonl", lines)
    assert record().find(1, "samples.jsonl") == lines and record().find(1, "rewards.jsonl") is None
    lost = record()
    with pytest.raises(RolloutsLost, match=r"samples\.jsonl of step 1"):
        lost._assignment.rollouts.clear()
        lost.find(1, "samples.jsonl")


def test_two_processes_share_the_answers_of_a_step(undisturbed: Callable[..., Outcome]) -> None:
    def tokens(processes: str) -> list[Any]:
        lines = undisturbed(processes)[2]["1 samples.jsonl"].decode().splitlines()
        return [[sample["tokens"] for sample in json.loads(line)["samples"]] for line in lines]

    assert tokens("1") == tokens("2")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_answers_of_model_servers_outlive_a_kill(
    anneal: FakeAnneal, tmp_path: Path, undisturbed: Callable[..., Outcome], processes: str
) -> None:
    assign_sampling(anneal, 9, max_steps=MOST_STEPS, rollouts="server")
    first = start_trainer(anneal.url, tmp_path / "first", ANNEAL_PROCESSES=processes)
    anneal.wait_for(lambda: 4 in anneal.steps)
    anneal.sampler_away = True
    anneal.wait_for(lambda: any(note["code"] == "waiting_for_sampler" for note in anneal.notes))
    first.signal(signal.SIGKILL)
    first.exit_code()

    resume(anneal)
    anneal.sampler_away = False
    second = start_trainer(anneal.url, tmp_path / "second", ANNEAL_PROCESSES=processes)
    assert second.exit_code() == 0, second.log
    assert set(anneal.sampled.values()) == {1} == set(anneal.graded.values())
    assert outcome(anneal) == undisturbed(processes, "server")
    # Each update that samples, and each validation, publishes a policy.
    assert {each["step"] for each in anneal.committed if each["kind"] == "policy"} == {0, 2, 3, 4, 6, 8}
