"""Objectives beyond supervised training: what no other implementation can be asked for."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from support.answer_rows import ANSWERS, judged, pairs
from support.training import train

from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.advantages import group_advantages
from anneal_runtime.trainer.objectives.losses import Pairs, preference_loss
from anneal_runtime.trainer.training_run import TrainingRun

METHODS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "dpo": ({"type": "dpo", "dpo": {"hyperparameters": {"sft_weight": 0.5}}}, pairs(10)),
    "kto": ({"type": "kto"}, judged(10)),
}
ARGS: dict[str, Any] = {"max_steps": 8, "batch_size": 3, "learning_rate": 4e-3}


@pytest.mark.parametrize("name", METHODS)
def test_a_resume_gives_the_bytes_of_the_undisturbed_run(name: str, tmp_path: Path) -> None:
    raw, rows = METHODS[name]
    args: dict[str, Any] = {**ARGS, "method": Method.from_json(raw), "lora_dropout": 0.1}
    whole = train(tmp_path / "whole", rows, rows[:4], **args, save_steps=3)
    resumed = train(tmp_path / "resumed", rows, rows[:4], **args, checkpoint=whole.checkpoints[3])
    assert sorted(resumed.rows) == [4, 5, 6, 7, 8]
    for step, row in resumed.rows.items():
        for figure in ("loss", "grad_norm", "valid_loss", "series"):
            assert row.get(figure) == whole.rows[step].get(figure)
    assert "valid_rewards/margins" in resumed.rows[8]["series"]
    assert all(torch.equal(value, whole.weights[key]) for key, value in resumed.weights.items())


@pytest.mark.parametrize("name", METHODS)
def test_any_cut_into_microbatches_gives_the_same_steps(name: str, tmp_path: Path) -> None:
    raw, rows = METHODS[name]

    def within(token_budget: int) -> list[list[Any]]:
        def limit(run: TrainingRun, _termination: object) -> None:
            run.optimizer_step.token_budget = token_budget

        args: dict[str, Any] = {**ARGS, "batch_size": 10, "method": Method.from_json(raw), "prepare": limit}
        training = train(tmp_path / str(token_budget), rows, None, **args)
        return [[row["loss"], row["grad_norm"], *row["series"].values()] for _, row in sorted(training.rows.items())]

    small, whole = within(40), within(100_000)
    assert len(whole) == 8
    for ours, expected in zip(small, whole, strict=True):
        assert ours == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_a_row_that_is_too_long_is_left_out_and_told(tmp_path: Path) -> None:
    long = {"input": "Question?\n", "chosen": "It is blue. " * 50, "rejected": "No."}
    args: dict[str, Any] = {**ARGS, "max_length": 64, "method": Method.from_json({"type": "dpo"})}
    training = train(tmp_path, [*pairs(4), long], None, **args)
    assert training.notes["rows_dropped"].startswith("1 rows are longer than 64 tokens and were left out.")
    assert training.rows[8]["epoch"] == 4.0


def test_label_smoothing_is_the_closed_form_of_cdpo() -> None:
    chosen, rejected = torch.tensor([1.5, -0.25, 3.0]), torch.tensor([-2.0, 0.5, 2.5])
    lengths = torch.tensor([3, 4, 5])
    smoothed = Pairs(chosen, rejected, lengths, lengths)
    ours = preference_loss("sigmoid", smoothed, beta=0.3, smoothing=0.2, gamma=0.0)
    for margin, loss in zip((chosen - rejected).tolist(), ours.tolist(), strict=True):
        right = 1 / (1 + math.exp(-0.3 * margin))
        assert loss == pytest.approx(-0.8 * math.log(right) - 0.2 * math.log(1 - right), abs=1e-6)


def test_answers_without_a_reward_have_no_advantage_and_do_not_move_the_mean_of_their_group() -> None:
    rewards = torch.tensor([[1.0, 0.0, math.nan], [0.5, 0.5, 0.5]])
    for scale, first in (("group", 0.5 / (math.sqrt(0.5) + 1e-4)), ("none", 0.5)):
        advantages = group_advantages(rewards, scale)
        assert advantages[0].tolist() == pytest.approx([first, -first, 0.0]) and advantages[1].tolist() == [0.0] * 3


def test_an_unknown_method_names_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no method ppo\. It has supervised, dpo, kto, reinforcement"):
        Method.from_json({"type": "ppo"})


def test_the_defaults_of_a_loss_are_its_own() -> None:
    simpo = Method.from_json({"type": "dpo", "dpo": {"hyperparameters": {"loss_type": "simpo", "beta": None}}})
    assert (simpo["beta"], simpo["reference"], simpo["simpo_gamma"]) == (2, "none", 0.5)


def test_train_on_reaches_the_training_and_its_validation(tmp_path: Path) -> None:
    rows = [{"input": f"Question {n}?\n", "output": ANSWERS[n % 4]} for n in range(6)]

    def losses(train_on: str) -> tuple[float, float]:
        method = Method.from_json({"type": "supervised", "supervised": {"hyperparameters": {"train_on": train_on}}})
        training = train(tmp_path / train_on, rows, rows[:2], **{**ARGS, "max_steps": 1}, method=method)
        return training.rows[1]["loss"], training.rows[1]["valid_loss"]

    usual, whole = losses("answers"), losses("everything")
    assert losses("last_answer") == usual
    assert all(one != other for one, other in zip(usual, whole, strict=True))
