"""Exit codes and causes, and the sentence that the user gets."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.assignments import assign, make_rows
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

from anneal_runtime import exit_codes
from anneal_runtime.trainer.failures import EvaluationFailed, explain


def fails(anneal: FakeAnneal, tmp_path: Path, code: int) -> dict[str, Any]:
    trainer = start_trainer(anneal.url, tmp_path)
    assert trainer.exit_code() == code, trainer.log
    assert anneal.failure is not None and anneal.committed == []
    return anneal.failure


def test_unreadable_data(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4))
    anneal.assignment["data"]["train"] = {
        **anneal.store("bad", b'{"input": "a", "output": "b"}\n{"input"\n'),
        "rows": 2,
    }
    failure = fails(anneal, tmp_path, exit_codes.DATA_ERROR)
    assert failure["cause"] == "data_error" and "Line 2" in failure["message"]


def test_no_data(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, [], make_rows(2))
    assert fails(anneal, tmp_path, exit_codes.DATA_ERROR)["cause"] == "data_error"


@pytest.mark.parametrize(
    "change",
    [{"source": {"path": "models/nowhere"}}, {"sha256": "00" * 32}, {"source": {"path": "runtime"}}],
    ids=["missing", "other weights", "not a model"],
)
def test_a_base_that_is_not_there(anneal: FakeAnneal, tmp_path: Path, change: dict[str, Any]) -> None:
    assign(anneal, make_rows(4))
    anneal.assignment["base_model"] |= change
    assert fails(anneal, tmp_path, exit_codes.MODEL_UNAVAILABLE)["cause"] == "model_unavailable"


def test_divergence_advises_a_lower_learning_rate(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), learning_rate=10, weight_decay=10, max_grad_norm=0, max_steps=40)
    failure = fails(anneal, tmp_path, exit_codes.CODE_ERROR)
    assert failure["cause"] == "code_error" and "lower learning_rate" in failure["message"]


@pytest.mark.parametrize(
    ("error", "cause", "code"),
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory."), "out_of_memory", 71),
        (MemoryError(), "out_of_memory", 71),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."), "out_of_memory", 71),
        (RuntimeError("shape mismatch"), "code_error", 70),
        (EvaluationFailed("The evaluation failed: x"), "evaluation_error", 70),
    ],
)
def test_causes(error: Exception, cause: str, code: int) -> None:
    assert explain(error)[:2] == (cause, code)
