"""Packed rows are trained as padded ones are, and see nothing of each other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.trainer_process import TINY
from support.training import USUAL_ARGS, Training, train
from transformers import MambaConfig, MambaForCausalLM

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.row_sequences import labelled
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.packing import ALWAYS, keeps_apart, packed_line_tokens
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.training_run import TrainingRun

CPU = torch.device("cpu")
SENTENCES = ["It is blue.", "In Oslo.", "It costs 252 dollars without tax, and 300 with it.", "Ask."]


def question(number: int) -> dict[str, Any]:
    return {"input": f"Question {number}{', as before' * (number % 5)}?\n"}


def answer(number: int) -> str:
    return SENTENCES[number % 4]


METHODS: dict[str, tuple[dict[str, Any] | None, list[dict[str, Any]]]] = {
    "supervised": (None, [{**question(n), "output": answer(n)} for n in range(12)]),
    "dpo": (
        {"type": "dpo", "dpo": {"hyperparameters": {"sft_weight": 0.5}}},
        [{**question(n), "chosen": answer(n), "rejected": answer(n + 1)} for n in range(12)],
    ),
    "kto": ({"type": "kto"}, [{**question(n), "answer": answer(n), "label": n % 3 > 0} for n in range(12)]),
}


@pytest.mark.parametrize("name", METHODS)
def test_packed_and_padded_runs_have_the_same_losses_and_gradients(name: str, tmp_path: Path) -> None:
    raw, rows = METHODS[name]

    def run(packing: str) -> tuple[Training, set[int]]:
        lines: set[int] = set()

        def watch(run: TrainingRun, _termination: object) -> None:
            run.optimizer_step.token_budget = 200
            run.model.register_forward_pre_hook(
                lambda _model, _args, given: lines.add(len(given["input_ids"])), with_kwargs=True
            )

        # Plain gradient descent: the weights are the sum of the gradients.
        args: dict[str, Any] = {"max_steps": 6, "batch_size": 6, "optim": "sgd", "learning_rate": 0.5}
        args |= {"method": Method.from_json(raw), "packing": packing, "prepare": watch}
        return train(tmp_path / packing, rows, rows[:4], **args), lines

    (padded, lines), (packed, packed_lines) = run("off"), run(ALWAYS)
    assert max(lines) > 1 and packed_lines == {1}
    assert packed.rows.keys() == padded.rows.keys() and "valid_loss" in packed.rows[6]
    for step, row in packed.rows.items():
        for figure in {"loss", "grad_norm", "valid_loss"} & row.keys():
            assert row[figure] == pytest.approx(padded.rows[step][figure], rel=1e-5, abs=1e-6), (step, figure)
    for key, value in packed.weights.items():
        assert torch.allclose(value, padded.weights[key], rtol=1e-5, atol=1e-6), key


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_changed_neighbour_changes_nothing_bit_for_bit(attention: str) -> None:
    model = tiny(attention)
    forward = ForwardPass(model, line_tokens=1000)

    def seen(changed: int | None, learned: list[int]) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
        """Log-probabilities of four sequences, and the gradients of `learned` ones."""
        rows = EncodedRows()
        for number, length in enumerate((30, 7, 41, 19)):
            start = 100 if number == changed else 3 + 11 * number
            rows.add(labelled([1, *range(start, start + length)], 3))
        model.zero_grad()
        logps = forward.token_logps(rows, [0, 1, 2, 3]).values
        logps[learned].sum().backward()
        return logps.detach(), [weight.grad for weight in trainable(model).values()]

    for changed in range(4):
        others = [number for number in range(4) if number != changed]
        (logps, gradients), (other_logps, other_gradients) = seen(None, others), seen(changed, others)
        assert not torch.equal(other_logps[changed], logps[changed])
        assert torch.equal(other_logps[others], logps[others])
        assert any(gradient is not None and gradient.any() for gradient in gradients)
        for ours, theirs in zip(gradients, other_gradients, strict=True):
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)


def test_a_model_that_does_not_keep_rows_apart_has_padded_ones_and_says_so() -> None:
    config = MambaConfig(vocab_size=64, hidden_size=16, state_size=4, num_hidden_layers=1)
    recurrent = add_adapter(MambaForCausalLM(config), replace(USUAL_ARGS, target_modules=["x_proj"]), refuse)
    told = dict[str, str]()
    assert packed_line_tokens(ALWAYS, recurrent, told.__setitem__) is None
    assert "does not keep packed rows apart" in told["rows_padded"]


def test_rows_that_see_each_other_are_found_by_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("sdpa")
    assert keeps_apart(model)
    # As older releases did: positions restart, and the mask is that of one long row.
    monkeypatch.setattr("transformers.masking_utils.find_packed_sequence_indices", lambda _positions: None)
    assert not keeps_apart(model)


def test_a_job_that_asked_for_packing_is_told_of_padding_and_others_are_not() -> None:
    model, told = tiny("sdpa"), dict[str, str]()
    assert packed_line_tokens("off", model, refuse) is None and packed_line_tokens(None, model, refuse) is None
    assert packed_line_tokens("auto", model, told.__setitem__) is None
    assert "on a CPU" in told["rows_padded"]


def tiny(attention: str) -> Any:
    base = load_causal_lm(TINY, CPU).model
    base.set_attn_implementation(attention)
    return add_adapter(base, USUAL_ARGS, refuse)


def refuse(code: str, message: str) -> None:
    raise AssertionError(f"{code}: {message}")
