"""Arguments that change a run: warm-up as a share, the scale of the adapter, gradient checkpointing, long rows."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft.tuners.lora import LoraLayer
from support.assignments import make_rows
from support.trainer_process import TINY
from support.training import USUAL_ARGS, Training, train
from transformers import TrainingArguments
from transformers.optimization import get_scheduler

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.server.adapter_checks import read_config
from anneal_runtime.trainer.adapter import load_adapter
from anneal_runtime.trainer.failures import DataError, RowsRefused
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.objective import Step, Unit
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import TrainingArgs, learning_rate_schedule
from anneal_runtime.trainer.training_run import TrainingRun

ROWS = make_rows(10)
LONG = {"input": "A long one. " * 50, "output": "Yes."}
LONG_PAIR = {"input": "A long one. " * 50, "chosen": "Yes.", "rejected": "No, by no means."}
PAIRS = [{"input": row["input"], "chosen": row["output"], "rejected": "Nobody knows."} for row in ROWS]
FIGURES = ("loss", "grad_norm", "valid_loss", "token_accuracy", "series", "epoch")
# Three rows a step, with dropout: a draw more or less would show.
ARGS: dict[str, Any] = {"max_steps": 8, "batch_size": 3, "lora_dropout": 0.2, "max_length": 128}


def noted(code: str, message: str) -> None:
    raise AssertionError(f"{code}: {message}")


def figures(training: Training) -> dict[int, list[Any]]:
    return training.series(*FIGURES)


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant_with_warmup", "inverse_sqrt"])
@pytest.mark.parametrize("total", [7, 30, 101])
def test_a_warmup_by_ratio_is_that_of_transformers(schedule: str, total: int, tmp_path: Path) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2e-3)
    args = replace(USUAL_ARGS, learning_rate=2e-3, lr_scheduler_type=schedule, warmup_ratio=0.1)
    ours = learning_rate_schedule(args, optimizer, total)
    # transformers reads warmup_steps below 1 as the ratio.
    warmup = TrainingArguments(output_dir=str(tmp_path), warmup_steps=0.1).get_warmup_steps(total)
    theirs = get_scheduler(schedule, optimizer, warmup, total)
    for step in range(total):
        assert ours(step) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        theirs.step()
    assert warmup > 0 and ours(warmup - 1) < ours(warmup)


def test_warmup_steps_replace_the_ratio() -> None:
    both = replace(USUAL_ARGS, warmup_steps=3, warmup_ratio=0.5)
    assert [both.steps_of_warmup(10), replace(both, warmup_steps=0).steps_of_warmup(10)] == [3, 5]
    assert replace(both, warmup_steps=50).steps_of_warmup(10) == 10


def test_arguments_that_an_earlier_release_did_not_have_are_those_of_the_contract() -> None:
    later = (
        *("warmup_ratio", "use_rslora", "gradient_checkpointing", "overlong", "finetuning_type", "load_in_4bit"),
        *("packing", "shard_base"),
    )
    args = TrainingArgs.from_json({name: value for name, value in DEFAULT_ARGS.items() if name not in later}, noted)
    assert args == USUAL_ARGS


def test_a_rank_stabilised_adapter_is_scaled_alike_where_it_is_trained_served_and_continued(tmp_path: Path) -> None:
    args = {**ARGS, "r_value": 16, "lora_alpha": 24}
    saved = train(tmp_path / "rs", ROWS, None, **args, use_rslora=True, save_steps=4).checkpoints[4]
    scale, rank = read_config(saved / "adapter_config.json")
    assert (scale, rank) == (24 / 4, 16)
    loaded = load_adapter(load_causal_lm(TINY, torch.device("cpu")).model, saved)
    scales = {part.scaling["default"] for part in loaded.modules() if isinstance(part, LoraLayer)}
    assert scales == {scale}
    plain = train(tmp_path / "plain", ROWS, None, **args, save_steps=4)
    assert read_config(plain.checkpoints[4] / "adapter_config.json")[0] == 24 / 16


@pytest.mark.parametrize(("method", "rows"), [(None, ROWS), ({"type": "dpo"}, PAIRS)])
def test_gradient_checkpointing_changes_no_figure_and_no_weight(
    method: dict[str, Any] | None, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    args = {**ARGS, "method": Method.from_json(method)}
    kept, again = (
        train(tmp_path / str(asked), rows, rows[:3], **args, gradient_checkpointing=asked) for asked in (False, True)
    )
    assert figures(again) == figures(kept) and again.notes == kept.notes
    assert all(torch.equal(value, kept.weights[name]) for name, value in again.weights.items())


def test_gradient_checkpointing_computes_the_layers_twice(tmp_path: Path) -> None:
    def passes(asked: bool | str) -> int:
        count = 0

        def listen(run: TrainingRun, _termination: object) -> None:
            def add(*_: object) -> None:
                nonlocal count
                count += 1

            run.model.get_base_model().model.layers[0].mlp.register_forward_pre_hook(add)

        train(tmp_path / str(asked), ROWS, None, **ARGS, gradient_checkpointing=asked, prepare=listen)
        return count

    once = passes("auto")
    assert (passes(False), passes(True)) == (once, 2 * once)


def test_gradient_checkpointing_resumes_exactly(tmp_path: Path) -> None:
    args = {**ARGS, "gradient_checkpointing": True}
    whole = train(tmp_path / "whole", ROWS, ROWS[:3], **args, save_steps=3)
    resumed = train(tmp_path / "resumed", ROWS, ROWS[:3], **args, checkpoint=whole.checkpoints[3])
    assert figures(resumed) == {step: row for step, row in figures(whole).items() if step > 3}
    assert all(torch.equal(value, whole.weights[name]) for name, value in resumed.weights.items())


def test_auto_checkpoints_once_a_single_row_does_not_fit_and_a_resume_goes_on_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, failed = OptimizerStep._backward, list[int]()

    def full_without(self: OptimizerStep, prepared: Step, units: list[Unit]) -> torch.Tensor:
        means = original(self, prepared, units)
        if not self.recomputes:
            failed.append(self.token_budget)
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return means

    monkeypatch.setattr(OptimizerStep, "_backward", full_without)
    whole = train(tmp_path / "whole", ROWS, None, **ARGS, save_steps=3)
    assert len(failed) > 1 and failed[-1] == min(failed) and sorted(whole.rows) == list(range(1, 9))
    assert whole.notes["gradient_checkpointing_on"].startswith("A row does not fit")
    failed.clear()
    resumed = train(tmp_path / "resumed", ROWS, None, **ARGS, checkpoint=whole.checkpoints[3])
    assert failed == [] and "gradient_checkpointing_on" not in resumed.notes
    assert figures(resumed) == {step: row for step, row in figures(whole).items() if step > 3}
    with pytest.raises(torch.cuda.OutOfMemoryError):
        train(tmp_path / "off", ROWS, None, **ARGS, gradient_checkpointing=False)


def test_a_checkpoint_without_gradient_checkpointing_has_the_fields_of_earlier_releases(tmp_path: Path) -> None:
    saved = train(tmp_path, ROWS, None, **ARGS, save_steps=4).checkpoints[4]
    assert "recomputes" not in json.loads((saved / "trainer_state.json").read_text())


@pytest.mark.parametrize("at", [0, 4, 10])
def test_dropped_rows_leave_the_run_as_if_they_had_not_been_there(at: int, tmp_path: Path) -> None:
    args = {**ARGS, "num_train_epochs": 2, "overlong": "drop", "keep": "best"}
    without = train(tmp_path / "without", ROWS, ROWS[:3], **args)
    dropped = train(tmp_path / "with", [*ROWS[:at], LONG, *ROWS[at:]], [LONG, *ROWS[:3]], **args, save_steps=5)
    assert figures(dropped) == figures(without) and dropped.rows[8]["epoch"] == 2.0
    assert dropped.rows[8]["valid_rows"] == 3
    assert dropped.notes["rows_dropped"].startswith("1 rows are longer than 128 tokens and were left out.")
    rows = [*ROWS[:at], LONG, *ROWS[at:]]
    resumed = train(tmp_path / "resumed", rows, [LONG, *ROWS[:3]], **args, checkpoint=dropped.checkpoints[5])
    assert figures(resumed) == {step: row for step, row in figures(dropped).items() if step > 5}


def test_overlong_refuse_names_how_many_rows_and_where(tmp_path: Path) -> None:
    args = {**ARGS, "overlong": "refuse"}
    with pytest.raises(RowsRefused, match=r"^2 rows are longer than 128 tokens \(lines 2, 12\)\. Raise max_length"):
        train(tmp_path / "train", [ROWS[0], LONG, *ROWS[1:], LONG], None, **args)
    with pytest.raises(RowsRefused, match=r"^Held-out rows: 7 rows .* \(lines 1, 2, 3, 4, 5, …\)"):
        train(tmp_path / "held_out", ROWS, [LONG] * 7, **args)
    with pytest.raises(RowsRefused, match=r"^1 rows are longer than 128 tokens \(line 1\)"):
        train(tmp_path / "pairs", [LONG_PAIR, *PAIRS], None, **args, method=Method.from_json({"type": "dpo"}))
    assert len(train(tmp_path / "short", ROWS, None, **args).rows) == 8


@pytest.mark.parametrize("loss_type", ["sigmoid", "orpo"])
def test_pairs_that_are_cut_compare_two_answers_to_one_prompt(loss_type: str, tmp_path: Path) -> None:
    method = Method.from_json({"type": "dpo", "dpo": {"hyperparameters": {"loss_type": loss_type}}})
    prompts = []

    def look(run: TrainingRun, _termination: object) -> None:
        rows = run.data.rows
        for row in range(len(rows)):
            chosen, rejected = (rows.tokens(sequence).tolist() for sequence in rows.sequences([row]))
            first = int((rows.labels(rows.sequences([row])[1]) >= 0).nonzero()[0]) + 1
            assert max(len(chosen), len(rejected)) <= 64 and chosen[:first] == rejected[:first]
            prompts.append(first)

    args = {**ARGS, "max_length": 64, "overlong": "cut", "method": method, "prepare": look}
    cut = train(tmp_path, [LONG_PAIR, *PAIRS], None, **args)
    assert len(prompts) == 11 and cut.notes["rows_cut"].startswith("1 rows are longer than 64 tokens and were cut.")
    assert all(math.isfinite(row["loss"]) for row in cut.rows.values())


def test_pairs_that_one_token_must_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No token is left to learn of the row in line 1"):
        method = Method.from_json({"type": "dpo"})
        train(tmp_path, PAIRS, None, **{**ARGS, "max_length": 1}, overlong="cut", method=method)
