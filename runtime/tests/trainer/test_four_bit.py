"""Training over a base in 4 bits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from support.rollouts import Service, by_letter, method, prompts
from support.trainer_process import TINY
from support.training import train

from anneal_runtime.model_source import LoadedModel, load_causal_lm
from anneal_runtime.trainer.adapter import Origin, load_adapter, save_adapter
from anneal_runtime.trainer.four_bit import NF4, load_in_4bit
from anneal_runtime.trainer.served_base import over_served_base
from anneal_runtime.trainer.training_run import TrainingRun

CPU = torch.device("cpu")
ROWS = [{"input": f"Question {n}?\n", "output": f"The answer is {n % 3}."} for n in range(12)]
ARGS: dict[str, Any] = {"max_steps": 8, "load_in_4bit": True, "lora_dropout": 0.1}


def rounded_base() -> LoadedModel:
    """An ordinary base whose weights are those of the 4-bit one."""
    from bitsandbytes.functional import dequantize_4bit

    plain, quantised = load_causal_lm(TINY, CPU), load_in_4bit(TINY, CPU)
    for name, parameter in quantised.model.named_parameters():
        if parameter.dtype is torch.uint8:
            values = dequantize_4bit(parameter.data, parameter.quant_state)
            plain.model.get_parameter(name).data.copy_(values)
    return plain


def test_the_steps_are_those_of_a_base_with_the_rounded_weights(tmp_path: Path) -> None:
    quantised = train(tmp_path / "quantised", ROWS, None, **ARGS)
    rounded = train(tmp_path / "rounded", ROWS, None, **{**ARGS, "load_in_4bit": False}, base=rounded_base())
    plain = train(tmp_path / "plain", ROWS, None, **{**ARGS, "load_in_4bit": False})
    for step, (loss, norm) in quantised.series("loss", "grad_norm").items():
        assert [loss, norm] == pytest.approx(rounded.series("loss", "grad_norm")[step], rel=1e-4)
    assert quantised.rows[1]["loss"] != pytest.approx(plain.rows[1]["loss"], rel=1e-4)
    assert quantised.rows[1]["flops"] == plain.rows[1]["flops"]


def test_a_resume_gives_the_bytes_of_the_undisturbed_run(tmp_path: Path) -> None:
    # A validation is a pass without a gradient.
    args = {**ARGS, "save_steps": 3, "eval_steps": 2}
    whole = train(tmp_path / "whole", ROWS, ROWS[:4], **args)
    resumed = train(tmp_path / "resumed", ROWS, ROWS[:4], **args, checkpoint=whole.checkpoints[3])
    assert resumed.series("loss", "grad_norm", "valid_loss") == {
        step: figures for step, figures in whole.series("loss", "grad_norm", "valid_loss").items() if step > 3
    }
    assert all(torch.equal(value, whole.weights[key]) for key, value in resumed.weights.items())


def test_answers_are_sampled_from_the_base_that_is_trained(tmp_path: Path) -> None:
    service = Service(by_letter)
    training = train(tmp_path, prompts(4), None, method=method(), rollouts=service.plan(), **ARGS)
    ratios = [row["series"]["sampling/importance_sampling_ratio/mean"] for row in training.rows.values()]
    assert ratios == pytest.approx([1.0] * 8, abs=1e-4)


def test_a_validation_changes_no_step_after_it(tmp_path: Path) -> None:
    seen = train(tmp_path / "seen", ROWS, ROWS[:4], **ARGS, eval_steps=2)
    unseen = train(tmp_path / "unseen", ROWS, None, **ARGS)
    assert all(torch.equal(value, unseen.weights[key]) for key, value in seen.weights.items())


def test_the_adapter_is_evaluated_over_the_base_as_it_is_served(tmp_path: Path) -> None:
    runs: list[TrainingRun] = []
    training = train(tmp_path, ROWS, None, **ARGS, prepare=lambda run, _termination: runs.append(run))
    save_adapter(runs[0].model, tmp_path / "model", Origin("anneal-tiny", "00", "spec", trained_on=NF4), 8)
    origin = json.loads((tmp_path / "model/anneal.json").read_text())
    assert origin == {
        "base_model": "anneal-tiny",
        "base_sha256": "00",
        "spec_hash": "spec",
        "trained_on": "nf4",
        "step": 8,
    }
    quantised = load_in_4bit(TINY, CPU)
    served = over_served_base(runs[0], quantised, tmp_path / "model", training.note)
    expected = load_adapter(load_causal_lm(TINY, CPU).model, tmp_path / "model")
    tokens = torch.arange(10).unsqueeze(0)
    assert torch.equal(served.eval()(input_ids=tokens).logits, expected.eval()(input_ids=tokens).logits)
    assert "over the base as it is served" in training.notes["served_base_differs"]


def test_a_process_that_was_told_of_no_4_bit_package_loads_in_4_bits_later() -> None:
    """As bench/gpu does after TRL has asked; in a process of its own, which may import the package once."""
    program = """
import sys, torch
from pathlib import Path
from anneal_runtime.trainer.four_bit import load_in_4bit
from transformers.utils import is_bitsandbytes_available
assert not is_bitsandbytes_available()
load_in_4bit(Path(sys.argv[1]), torch.device("cpu"))
"""
    subprocess.run([sys.executable, "-c", program, TINY], check=True)
