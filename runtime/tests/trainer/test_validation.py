"""Validation on held-out rows: its figures, its decisions, and that it leaves no trace in the training."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from support.assignments import json_lines, make_rows
from support.trainer_process import TINY
from support.training import SUPERVISED, Training, train

from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.held_out import MOST_ROWS, HeldOut, Validated, rows_wanted
from anneal_runtime.trainer.objectives.objective import Step, Unit
from anneal_runtime.trainer.termination import Termination
from anneal_runtime.trainer.training_data import load_held_out
from anneal_runtime.trainer.training_run import TrainingRun

ROWS, HELD_OUT = make_rows(6), make_rows(16, seed=8)
# The run is long enough to learn its rows by heart. Dropout would show a stray random number.
OVERFITTING: dict[str, Any] = {
    **{"max_steps": 40, "eval_steps": 4, "lora_dropout": 0.1, "learning_rate": 6e-3, "lr_scheduler_type": "constant"},
}
SERIES = ("loss", "token_accuracy", "learning_rate", "grad_norm", "valid_loss", "valid_token_accuracy", "valid_rows")


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """An overfitting run that keeps its best step."""
    return train(tmp_path_factory.mktemp("best"), ROWS, HELD_OUT, **OVERFITTING, keep="best", save_steps=4)


def valid_losses(training: Training) -> dict[int, float]:
    return {step: row["valid_loss"] for step, row in sorted(training.rows.items()) if "valid_loss" in row}


def lowest(training: Training) -> int:
    losses = valid_losses(training)
    return min(losses, key=lambda step: losses[step])


def adapter_of(training: Training, step: int) -> bytes:
    return (training.checkpoints[step] / "adapter_model.safetensors").read_bytes()


def test_the_best_step_of_an_overfitting_run_is_kept_and_said(best: Training) -> None:
    losses, step = valid_losses(best), lowest(best)
    assert list(losses) == list(range(4, 41, 4)) and {best.rows[each]["valid_rows"] for each in losses} == {16}
    assert step < 40 and losses[step] < losses[40] * 0.8
    assert best.model_step == step
    kept = load_file(best.checkpoints[step] / "adapter_model.safetensors")
    mine = {name.replace(".default", ""): value for name, value in best.weights.items()}
    assert kept.keys() == mine.keys() and all(torch.equal(value, mine[name]) for name, value in kept.items())
    assert f"{losses[step]:.3f}" in best.notes["best_kept"] and f"{losses[40]:.3f}" in best.notes["best_kept"]
    assert f"since step {step}" in best.notes["overfitting"]


def test_validation_leaves_the_training_as_it_is(best: Training, tmp_path: Path) -> None:
    without = train(tmp_path, ROWS, None, **OVERFITTING, keep="best", save_steps=36)
    assert {step: row["loss"] for step, row in without.rows.items()} == {
        step: best.rows[step]["loss"] for step in (*range(1, 11), 20, 30, 40)
    }
    assert adapter_of(without, 36) == adapter_of(best, 36)
    assert without.model_step == 40 and "eval_data" in without.notes["validation_impossible"]


def test_a_resume_knows_the_best_step_of_before(best: Training, tmp_path: Path) -> None:
    start = min(lowest(best) + 4, 36)
    resumed = train(tmp_path, ROWS, HELD_OUT, **OVERFITTING, keep="best", checkpoint=best.checkpoints[start])
    whole = best.series(*SERIES)
    assert resumed.series(*SERIES) == {step: whole[step] for step in whole if step > start}
    assert resumed.model_step == best.model_step
    assert all(torch.equal(value, best.weights[name]) for name, value in resumed.weights.items())


def test_a_stop_during_a_validation_costs_no_row_and_an_early_stop_comes_at_the_same_step(
    best: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args: dict[str, Any] = {**OVERFITTING, "keep": "best", "early_stopping": {"patience": 2, "min_delta": 0}}
    losses, lowest_yet, since = valid_losses(best), float("inf"), 0
    for end, loss in losses.items():  # noqa: B007
        lowest_yet, since = (loss, 0) if loss < lowest_yet else (lowest_yet, since + 1)
        if since == 2:
            break
    assert end < 40, losses

    def stop_at_the_end(_run: TrainingRun, termination: Termination) -> None:
        measure, validations = HeldOut.measure, list[int]()

        def stopping_the_last(self: HeldOut, stop_requested: Callable[[], bool]) -> Validated | None:
            validations.append(1)
            termination.requested = len(validations) * 4 == end
            return measure(self, stop_requested)

        monkeypatch.setattr(HeldOut, "measure", stopping_the_last)

    stopped = train(tmp_path / "stopped", ROWS, HELD_OUT, **args, prepare=stop_at_the_end)
    monkeypatch.undo()
    assert stopped.model_step is None and list(stopped.checkpoints) == [end] and end not in stopped.rows

    resumed = train(tmp_path / "resumed", ROWS, HELD_OUT, **args, checkpoint=stopped.checkpoints[end])
    rows = stopped.series(*SERIES) | resumed.series(*SERIES)
    assert rows == {step: row for step, row in best.series(*SERIES).items() if step <= end}
    assert f"after step {end} of 40" in resumed.notes["stopped_early"]
    assert resumed.model_step == min((loss, step) for step, loss in losses.items() if step <= end)[1]


def test_the_rows_of_a_validation_are_bounded_and_spread_over_the_file(tmp_path: Path) -> None:
    path, encoder = tmp_path / "rows", TextEncoder(load_tokenizer(TINY))
    path.write_bytes(json_lines(make_rows(1000)))
    assert (rows_wanted(2, is_decisive=False), rows_wanted(2, is_decisive=True)) == (8, 32)
    for trained_between, expected in ((400, 80), (10**9, MOST_ROWS)):
        wanted = rows_wanted(trained_between, is_decisive=True)
        held_out = load_held_out(path, encoder, SUPERVISED, 64, "cut", wanted)
        assert len(held_out.used) == expected and len(held_out.rows) == 1000
        assert held_out.used[0] == 0 and held_out.used[-1] >= 1000 * (1 - 1 / expected) - 1
        assert sum(held_out.rows.label_count(each) > 0 for each in held_out.rows.sequences(held_out.used)) == expected


def test_a_validation_that_does_not_fit_into_memory_is_done_in_smaller_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = HeldOut._evaluate

    def full_beyond_two_rows(self: HeldOut, step: Step, units: list[Unit]) -> list[float]:
        if len(units) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return evaluate(self, step, units)

    monkeypatch.setattr(HeldOut, "_evaluate", full_beyond_two_rows)
    small = train(tmp_path, ROWS, HELD_OUT, **{**OVERFITTING, "max_steps": 4}, keep="best")
    assert small.rows[4]["valid_rows"] == 16 and 0 < small.rows[4]["valid_token_accuracy"] < 1
