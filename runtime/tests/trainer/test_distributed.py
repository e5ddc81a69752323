"""One attempt in several processes, on nodes of their own or on one: the same run as in one process."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.forked_program import ForkedProgram
from support.nodes import again, codes, start_nodes, trace
from support.trainer_process import start_trainer

from anneal_runtime import exit_codes

LONG = {"max_steps": 24, "batch_size": 3, "gradient_accumulation_steps": 2}
VALIDATED: dict[str, Any] = {**LONG, "eval_steps": 6, "split": "held_out", "evaluation": make_rows(17, seed=8)}
# Steps so many that only a signal ends them.
ENDLESS = {**LONG, "max_steps": 100_000}


@pytest.mark.parametrize("optim", ["adamw_torch", pytest.param("adafactor", marks=pytest.mark.slow)])
def test_two_nodes_equal_one_process(anneal: FakeAnneal, tmp_path: Path, optim: str) -> None:
    assign(anneal, make_rows(17), **VALIDATED, optim=optim)
    assert start_trainer(anneal.url, tmp_path / "one").exit_code() == 0
    losses, flops, calls = trace(anneal), trace(anneal, "flops"), anneal.calls.count("steps")
    valid_losses = trace(anneal, "valid_loss")
    evaluation = anneal.evaluation

    again(anneal)
    nodes = start_nodes(anneal, tmp_path)
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log
    # Sums of floats in another order, which the steps of an optimizer may enlarge.
    assert trace(anneal) == pytest.approx(losses, rel=1e-4)
    assert trace(anneal, "flops") == flops and calls >= 1
    assert len(valid_losses) == 4 and trace(anneal, "valid_loss") == pytest.approx(valid_losses, rel=1e-3)
    assert anneal.evaluation is not None and evaluation is not None
    # The first node alone speaks; the other one claims with it.
    assert anneal.phases == ["TRAINING MODEL", "SAVING MODEL", "EVALUATING MODEL"]
    assert len(anneal.claim_ids) == 2 and len(set(anneal.claim_ids)) == 1
    assert [artifact["kind"] for artifact in anneal.committed] == ["model"]
    assert anneal.calls.count("evaluation") == 1


def test_two_nodes_share_the_divergence_and_the_reference_of_judged_rows(anneal: FakeAnneal, tmp_path: Path) -> None:
    rows = [{"input": row["input"], "answer": row["output"], "label": n % 3 > 0} for n, row in enumerate(make_rows(17))]
    assign(anneal, rows, **{**LONG, "max_steps": 12}, evaluation=rows[:2])
    anneal.assignment["method"] = {"type": "kto", "kto": {"hyperparameters": {"beta": 0.1}}}
    assert start_trainer(anneal.url, tmp_path / "one").exit_code() == 0
    alone = [(row["loss"], row["grad_norm"], row["series"]["kl"]) for _, row in sorted(anneal.steps.items())]

    again(anneal)
    nodes = start_nodes(anneal, tmp_path)
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log
    together = [(row["loss"], row["grad_norm"], row["series"]["kl"]) for _, row in sorted(anneal.steps.items())]
    assert len(alone) == 11 and any(kl > 0 for _, _, kl in alone)
    for ours, expected in zip(together, alone, strict=True):
        assert ours == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.mark.slow
def test_processes_of_one_node_are_started_by_the_first_and_idle_ones_are_noted(
    anneal: FakeAnneal, tmp_path: Path
) -> None:
    assign(anneal, make_rows(17), max_steps=12, batch_size=2)
    assert start_trainer(anneal.url, tmp_path / "one").exit_code() == 0
    losses = trace(anneal)
    again(anneal)
    trainer = start_trainer(anneal.url, tmp_path / "three", ANNEAL_PROCESSES="3")
    assert trainer.exit_code() == 0, trainer.log
    assert trace(anneal) == pytest.approx(losses, rel=1e-4)
    assert [note["code"] for note in anneal.notes] == ["processes_idle"]
    assert len(anneal.claim_ids) == 3 and len(set(anneal.claim_ids)) == 1


@pytest.mark.slow
def test_sigterm_to_any_process_stops_all_at_one_step_and_a_resume_goes_on(anneal: FakeAnneal, tmp_path: Path) -> None:
    whole: dict[str, Any] = {**VALIDATED, "lora_dropout": 0.1, "keep": "best"}
    assign(anneal, make_rows(17), **whole)
    assert codes(start_nodes(anneal, tmp_path / "whole")) == [0, 0]
    losses, valid_losses, step = trace(anneal), trace(anneal, "valid_loss"), (anneal.artifact("model") or {})["step"]

    again(anneal)
    nodes = start_nodes(anneal, tmp_path / "stopped")
    anneal.wait_for(lambda: 10 in anneal.steps)
    nodes[1].signal(signal.SIGTERM)
    assert codes(nodes) == [143, 143], nodes[0].log + nodes[1].log
    checkpoint = anneal.artifact("checkpoint")
    assert checkpoint is not None and 10 <= checkpoint["step"] < 24
    assert f"Stopping after step {checkpoint['step']}" in nodes[0].log

    resume(anneal)
    anneal.step_posts.clear()
    resumed = start_nodes(anneal, tmp_path / "resumed")
    assert codes(resumed) == [0, 0], resumed[0].log + resumed[1].log
    assert min(row for post in anneal.step_posts for row in post) >= checkpoint["step"]
    # Bit for bit, dropout included: shares and sums are pure functions of the step.
    assert trace(anneal) == losses and trace(anneal, "valid_loss") == valid_losses
    assert (anneal.artifact("model") or {})["step"] == step


def test_a_killed_process_ends_the_others_to_be_tried_again_from_the_last_step(
    anneal: FakeAnneal, tmp_path: Path
) -> None:
    assign(anneal, make_rows(17), **ENDLESS)
    nodes = start_nodes(anneal, tmp_path)
    anneal.wait_for(lambda: 20 in anneal.steps)
    nodes[1].signal(signal.SIGKILL)
    assert codes(nodes) == [exit_codes.PEER_LOST, -signal.SIGKILL], nodes[0].log
    assert "Another process of this run is gone" in nodes[0].log
    assert anneal.failure is None
    assert (anneal.artifact("checkpoint") or {})["step"] >= 20


def test_a_killed_first_process_ends_the_others(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **ENDLESS)
    nodes = start_nodes(anneal, tmp_path)
    anneal.wait_for(lambda: 10 in anneal.steps)
    nodes[0].signal(signal.SIGKILL)
    assert codes(nodes) == [-signal.SIGKILL, exit_codes.PEER_LOST], nodes[1].log


@pytest.mark.slow
def test_a_process_that_hangs_holds_the_others_for_a_bounded_time(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **ENDLESS)
    nodes = start_nodes(anneal, tmp_path, ANNEAL_PEER_TIMEOUT_S="3")
    anneal.wait_for(lambda: 10 in anneal.steps)
    nodes[1].signal(signal.SIGSTOP)
    assert nodes[0].exit_code() == exit_codes.PEER_LOST, nodes[0].log
    nodes[1].signal(signal.SIGKILL)
    assert nodes[1].exit_code() == -signal.SIGKILL
    assert (anneal.artifact("checkpoint") or {})["step"] >= 10


def test_a_node_ends_with_the_code_of_the_process_that_died(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **ENDLESS)
    trainer = start_trainer(anneal.url, tmp_path, ANNEAL_PROCESSES="2")
    anneal.wait_for(lambda: 10 in anneal.steps)
    (child,) = children_of(trainer)
    os.kill(child, signal.SIGKILL)
    assert trainer.exit_code() == 128 + signal.SIGKILL, trainer.log


def test_the_processes_of_a_node_end_with_its_first(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **ENDLESS)
    trainer = start_trainer(anneal.url, tmp_path, ANNEAL_PROCESSES="2")
    anneal.wait_for(lambda: 10 in anneal.steps)
    (child,) = children_of(trainer)
    trainer.signal(signal.SIGKILL)
    assert trainer.exit_code() == -signal.SIGKILL
    anneal.wait_for(lambda: not is_running(child))


def test_sigterm_while_waiting_for_another_node_ends_at_once_and_claims_nothing(
    anneal: FakeAnneal, tmp_path: Path
) -> None:
    assign(anneal, make_rows(4))
    first = start_trainer(
        anneal.url, tmp_path, ANNEAL_NODE_COUNT="2", ANNEAL_NODE_RANK="0", ANNEAL_RENDEZVOUS="127.0.0.1:0"
    )
    anneal.wait_for(lambda: first.log_path.exists() and "Waiting for the other" in first.log)
    first.signal(signal.SIGTERM)
    assert first.exit_code() == 143
    assert anneal.calls == []


def test_data_that_cannot_be_trained_on_ends_all_with_its_cause(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, [], make_rows(2))
    nodes = start_nodes(anneal, tmp_path)
    ends = codes(nodes)
    assert exit_codes.DATA_ERROR in ends and set(ends) <= {exit_codes.DATA_ERROR, exit_codes.PEER_LOST}
    assert (anneal.failure or {})["cause"] == "data_error"


def children_of(trainer: ForkedProgram) -> list[int]:
    assert trainer.process.pid is not None
    return [
        int(pid) for pid in Path(f"/proc/{trainer.process.pid}/task/{trainer.process.pid}/children").read_text().split()
    ]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
