"""What a training on preferences or judged answers decides by its held-out rows, and tells."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from support.answer_rows import judged, pairs
from support.training import Training, train

from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.objective import Window
from anneal_runtime.trainer.objectives.preference_news import chosen_falls, saturated, start_of
from anneal_runtime.trainer.objectives.reference import REFERENCE_FILE

ARGS: dict[str, Any] = {
    **{"max_steps": 40, "eval_steps": 5, "learning_rate": 2e-3, "lr_scheduler_type": "constant", "lora_dropout": 0.1},
    "method": Method.from_json({"type": "dpo"}),
}
# Some held-out pairs contradict the training: the order gets worse before the loss does.
CONTRADICTING = [{**pair, "chosen": pair["rejected"], "rejected": pair["chosen"]} for pair in pairs(16)[8:]]
HELD_OUT = pairs(5) + CONTRADICTING


def validations(training: Training) -> dict[int, tuple[float, float]]:
    """Accuracy and loss by step."""
    return {
        step: (round(row["series"]["valid_rewards/accuracies"], 6), row["valid_loss"])
        for step, row in sorted(training.rows.items())
        if "valid_loss" in row
    }


def test_the_order_of_the_pairs_decides_which_step_is_kept_and_when_the_run_stops(tmp_path: Path) -> None:
    args: dict[str, Any] = {**ARGS, "keep": "best", "early_stopping": {"patience": 2, "min_delta": 0}}
    whole = train(tmp_path / "whole", pairs(8), HELD_OUT, **args, save_steps=8)
    seen = validations(whole)
    best = max(seen, key=lambda step: (seen[step][0], -seen[step][1]))
    lowest = min(seen, key=lambda step: seen[step][1])
    assert list(seen) == [5, 10, 15, 20] and (best, lowest) == (10, 20), seen
    assert whole.model_step == best
    assert f"rewards/accuracies was {seen[best][0]:.3f} with a loss of {seen[best][1]:.3f}" in whole.notes["best_kept"]
    assert "neither raised the held-out rewards/accuracies nor" in whole.notes["stopped_early"]

    for step in (8, 16):
        resumed = train(tmp_path / f"{step}", pairs(8), HELD_OUT, **args, checkpoint=whole.checkpoints[step])
        assert validations(resumed) == {each: seen[each] for each in seen if each > step}
        assert resumed.model_step == best
        assert resumed.notes["best_kept"] == whole.notes["best_kept"]
        assert all(torch.equal(value, whole.weights[name]) for name, value in resumed.weights.items())


def test_pairs_that_are_learned_and_answers_that_fall_are_told_once_over_resumes(tmp_path: Path) -> None:
    args: dict[str, Any] = {**ARGS, "max_steps": 24, "learning_rate": 4e-3}
    whole = train(tmp_path / "whole", pairs(2), None, **args, save_steps=8)
    saturation, fall = whole.notes["preference_saturated"], whole.notes["chosen_falls"]
    assert "at step 10 of 24 the model orders 100.0% of them" in saturation
    assert "at step 20" in fall and "sft_weight" in fall

    before = train(tmp_path / "before", pairs(2), None, **args, checkpoint=whole.checkpoints[8])
    assert (before.notes["preference_saturated"], before.notes["chosen_falls"]) == (saturation, fall)
    between = train(tmp_path / "between", pairs(2), None, **args, checkpoint=whole.checkpoints[16])
    assert between.notes["chosen_falls"] == fall and "preference_saturated" not in between.notes


def test_a_fall_is_measured_from_the_start_of_the_job_and_told_only_while_the_margin_grows() -> None:
    series = {"rewards/chosen": -0.3, "rewards/rejected": -0.9, "rewards/margins": 0.6}
    window = Window(30, 100, 0.4, {**series, "logps/chosen": -23.0, "logps/rejected": -40.0}, {})
    start = start_of(window.series, beta=0.1)
    assert (start["logps/chosen"], start["logps/rejected"]) == pytest.approx((-20.0, -31.0))
    assert "is -23.00 (at the start -20.00)" in (chosen_falls(window, start) or "")
    assert chosen_falls(replace(window, step=19), start) is None, "too early to tell"
    assert chosen_falls(window, {**start, "rewards/margins": 0.7}) is None
    assert chosen_falls(window, {**start, "logps/chosen": -21.0}) is None, "by a tenth of the start at most"


def test_pairs_are_learned_early_only_in_the_first_half_of_the_run() -> None:
    window = Window(40, 100, 0.04, {"rewards/accuracies": 0.995}, {})
    assert "99.5%" in (saturated(window) or "")
    for change in ({"step": 50}, {"loss": 0.05}, {"series": {"rewards/accuracies": 0.98}}):
        assert saturated(replace(window, **change)) is None  # type: ignore[arg-type]


def test_judgements_out_of_balance_are_told_with_weights_that_balance_them(tmp_path: Path) -> None:
    def told(**weights: float) -> str | None:
        method = Method.from_json({"type": "kto", "kto": {"hyperparameters": weights}})
        args: dict[str, Any] = {**ARGS, "max_steps": 1, "method": method}
        folder = tmp_path / "-".join(["run", *weights])
        return train(folder, judged(10), None, **args).notes.get("labels_unbalanced")

    assert (told() or "").endswith("Set desirable_weight to 0.78 or undesirable_weight to 1.3.")
    assert told(desirable_weight=0.78) is None and told(undesirable_weight=1.3) is None


def test_the_reference_scores_only_the_rows_that_the_run_visits(tmp_path: Path) -> None:
    short: dict[str, Any] = {**ARGS, "max_steps": 2, "batch_size": 4, "gradient_accumulation_steps": 1}
    training = train(tmp_path, pairs(40), None, **short, save_steps=1)
    scored = load_file(training.checkpoints[1] / REFERENCE_FILE)["train"]
    assert int(torch.isfinite(scored).sum()) == 2 * 2 * 4
    assert "the answers of 8 rows" in training.notes["reference_ready"]
