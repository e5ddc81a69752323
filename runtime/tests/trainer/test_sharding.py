"""Runs whose processes share the frozen base."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.nodes import again, codes, start_nodes, trace
from support.trainer_process import start_trainer, train

from anneal_runtime import exit_codes
from anneal_runtime.contract import EXIT_CODES

RUN: dict[str, Any] = {
    **{"max_steps": 24, "batch_size": 3, "gradient_accumulation_steps": 2, "save_steps": 4, "lora_dropout": 0.1},
    **{"eval_steps": 6, "split": "held_out", "evaluation": make_rows(5, seed=8)},
}
PAIRS = [
    {"input": row["input"], "chosen": row["output"], "rejected": f"It has {'no ' * (n % 4)}colour."}
    for n, row in enumerate(make_rows(9))
]
JUDGED = [{"input": row["input"], "answer": row["output"], "label": n % 3 > 0} for n, row in enumerate(make_rows(9))]


def figures(anneal: FakeAnneal) -> tuple[list[float], list[float], Any]:
    return trace(anneal), trace(anneal, "valid_loss"), (anneal.evaluation or {})["results"]


def weights(anneal: FakeAnneal) -> bytes:
    return anneal.content("model")["adapter_model.safetensors"]


def test_a_shared_base_has_the_figures_of_a_whole_one_and_resumes_exactly(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **RUN)
    assert codes(start_nodes(anneal, tmp_path / "whole")) == [0, 0]
    losses, valid_losses, answers = figures(anneal)

    again(anneal)
    assign(anneal, make_rows(17), **RUN, shard_base=True)
    nodes = start_nodes(anneal, tmp_path / "shared")
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log
    assert "2 processes share the base model; each holds 50% of it." in [note["message"] for note in anneal.notes]
    shared, adapter = figures(anneal), weights(anneal)
    assert len(valid_losses) == 4
    assert shared[0] == pytest.approx(losses, rel=1e-5) and shared[1] == pytest.approx(valid_losses, rel=1e-5)
    assert shared[2] == answers

    again(anneal)
    nodes = start_nodes(anneal, tmp_path / "stopped")
    anneal.wait_for(lambda: 7 in anneal.steps)
    nodes[1].signal(signal.SIGTERM)
    assert codes(nodes) == [143, 143], nodes[0].log + nodes[1].log
    resume(anneal)
    stopped_at = anneal.assignment["checkpoint"]["step"]
    nodes = start_nodes(anneal, tmp_path / "resumed")
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log
    assert 7 <= stopped_at < 24 and figures(anneal) == shared and weights(anneal) == adapter

    # One process has other shares of each step, and a base of its own.
    anneal.committed = [artifact for artifact in anneal.committed if artifact["kind"] == "checkpoint"]
    resume(anneal)
    alone = start_trainer(anneal.url, tmp_path / "alone")
    assert alone.exit_code() == 0, alone.log
    assert "base_not_sharded" in [note["code"] for note in anneal.notes]


@pytest.mark.parametrize(("method", "rows"), [("dpo", PAIRS), ("kto", JUDGED)])
def test_the_reference_passes_go_through_the_shared_base(
    anneal: FakeAnneal, tmp_path: Path, method: str, rows: list[dict[str, Any]]
) -> None:
    # One of three processes has no rows in a step of two.
    args: dict[str, Any] = {"max_steps": 8, "batch_size": 2, "eval_steps": 4, "split": "held_out"}
    found = []
    for asked in (False, True):
        again(anneal)
        assign(anneal, rows, rows[:3], **args, shard_base=asked)
        anneal.assignment["method"] = {"type": method, method: {"hyperparameters": {"beta": 0.1}}}
        nodes = start_nodes(anneal, tmp_path / str(asked), 3)
        assert codes(nodes) == [0, 0, 0], "".join(node.log for node in nodes)
        found.append([{**row["series"], "loss": row["loss"]} for _, row in sorted(anneal.steps.items())])
    assert len(found[0]) == 8
    for whole, shared in zip(*found, strict=True):
        # A step may have no row of a judgement.
        known = {name: value for name, value in whole.items() if value is not None}
        assert {name: shared[name] for name in known} == pytest.approx(known, rel=1e-5, abs=1e-5)


def test_an_evaluation_alone_shares_the_base_too(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(6), max_steps=2, shard_base=True)
    assert codes(start_nodes(anneal, tmp_path / "trained")) == [0, 0]
    results = anneal.evaluation
    anneal.assignment |= {"mode": "evaluate", "attempt": 2, "model": anneal.artifact("model")}
    anneal.claim_ids.clear()
    anneal.evaluation = None
    nodes = start_nodes(anneal, tmp_path / "evaluated")
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log
    assert anneal.evaluation == results and "to be shared" in nodes[1].log


def test_a_killed_process_ends_one_that_waits_for_its_share(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **{**RUN, "max_steps": 100_000}, shard_base=True)
    nodes = start_nodes(anneal, tmp_path)
    anneal.wait_for(lambda: 10 in anneal.steps)
    nodes[1].signal(signal.SIGKILL)
    assert codes(nodes) == [exit_codes.PEER_LOST, -signal.SIGKILL], nodes[0].log
    assert (anneal.artifact("checkpoint") or {})["step"] >= 10


def lack_memory() -> None:
    """The passes of rank 1 do not fit from the fourth step on."""
    import torch

    from anneal_runtime.trainer.step import OptimizerStep

    backward, calls = OptimizerStep._backward, []

    def failing(*what: Any) -> Any:
        calls.append(what)
        if os.environ["ANNEAL_NODE_RANK"] == "1" and len(calls) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return backward(*what)

    OptimizerStep._backward = failing  # type: ignore[method-assign]
    train()


def test_a_pass_that_does_not_fit_ends_all_processes_with_its_cause(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(17), **RUN, shard_base=True)
    nodes = start_nodes(anneal, tmp_path, main=lack_memory)
    assert codes(nodes) == [exit_codes.PEER_LOST, EXIT_CODES["out_of_memory"]], nodes[0].log + nodes[1].log
    assert (anneal.failure or {})["cause"] == "out_of_memory"
    assert (anneal.artifact("checkpoint") or {})["step"] == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"args": {"load_in_4bit": True}}, "a base in 4 bits stays whole"),
        ({"method": {"type": "reinforcement", "reinforcement": {}}}, "reinforcement samples from a whole base"),
    ],
)
def test_bases_that_stay_whole_refuse_to_be_shared(
    anneal: FakeAnneal, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    assign(anneal, make_rows(2), shard_base=True)
    anneal.assignment["args"] |= change.pop("args", {})
    anneal.assignment |= change
    assert start_trainer(anneal.url, tmp_path).exit_code() == exit_codes.DATA_ERROR
    assert sentence in (anneal.failure or {})["message"]
