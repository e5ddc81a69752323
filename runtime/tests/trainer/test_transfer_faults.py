"""Lost answers, broken bytes, expired addresses: what the trainer does about each, by what arrives."""

from pathlib import Path

import pytest
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer


@pytest.mark.parametrize("route", ["claim", "artifacts", "commit", "evaluation", "steps"])
def test_a_lost_answer_changes_nothing(anneal: FakeAnneal, tmp_path: Path, route: str) -> None:
    assign(anneal, make_rows(4), max_steps=10)
    anneal.lose_answer[route] = 1
    trainer = start_trainer(anneal.url, tmp_path)
    assert trainer.exit_code() == 0, trainer.log
    assert anneal.lose_answer[route] == 0
    assert len(set(anneal.claim_ids)) == 1
    assert [artifact["kind"] for artifact in anneal.committed] == ["model"]
    assert list(anneal.steps) == [*range(1, 11)] and anneal.evaluation is not None


@pytest.mark.parametrize(("status", "code"), [(409, "artifact_incomplete"), (404, "not_found")])
def test_an_incomplete_or_missing_artifact_is_uploaded_again_as_a_new_artifact(
    anneal: FakeAnneal, tmp_path: Path, status: int, code: str
) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.refuse["commit"] = (2, status, code)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert anneal.calls.count("artifacts") == 3 and len(anneal.committed) == 1


def test_an_artifact_that_never_arrives_whole_is_a_failure(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.refuse["commit"] = (100, 409, "artifact_incomplete")
    assert start_trainer(anneal.url, tmp_path).exit_code() == 70
    assert anneal.calls.count("artifacts") == 3
    assert anneal.failure is not None and anneal.failure["cause"] == "code_error"


def test_broken_bytes_are_fetched_again(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.corrupt["train"] = 2
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert anneal.corrupt["train"] == 0


def test_bytes_that_stay_broken_are_never_trained_on(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.corrupt["train"] = 100
    trainer = start_trainer(anneal.url, tmp_path)
    assert trainer.exit_code() == 70
    assert "sha256" in (anneal.failure or {})["message"] and anneal.phases == []


def test_a_broken_checkpoint_is_never_resumed_from(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=4, save_steps=2)
    assert start_trainer(anneal.url, tmp_path / "first").exit_code() == 0
    resume(anneal)
    url = next(f["url"] for f in anneal.assignment["checkpoint"]["files"] if f["name"] == "optimizer.safetensors")
    anneal.corrupt[url.partition("/store/")[2]] = 100
    assert start_trainer(anneal.url, tmp_path / "second").exit_code() == 70
    assert "optimizer.safetensors" in (anneal.failure or {})["message"]


def test_a_checkpoint_of_another_specification_is_refused(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=4, save_steps=2)
    assert start_trainer(anneal.url, tmp_path / "first").exit_code() == 0
    resume(anneal)
    anneal.assignment["spec_hash"] = "cd" * 32
    assert start_trainer(anneal.url, tmp_path / "second").exit_code() == 70
    assert "another specification" in (anneal.failure or {})["message"]


def test_an_expired_address_is_asked_for_again(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.refuse["GET"] = (1, 403, "expired")
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert len(anneal.claim_ids) == 2 and len(set(anneal.claim_ids)) == 1


def test_a_refused_report_ends_the_run_with_its_reason(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=5000)
    anneal.refuse["steps"] = (1, 422, "bad_steps")
    assert start_trainer(anneal.url, tmp_path).exit_code() == 70
    assert "bad_steps" in (anneal.failure or {})["message"]
