"""The optimizer step against its reference: transformers' own Trainer, padded, on the same rows."""

import random
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.trainer_process import TINY
from support.training import USUAL_ARGS
from transformers import DataCollatorForSeq2Seq, Trainer, TrainerCallback, TrainingArguments

from anneal_runtime.model_source import load_causal_lm, load_tokenizer
from anneal_runtime.row_sequences import NOT_LEARNED, labelled
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.objective import Step, Unit
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import TrainingArgs, learning_rate_schedule, make_optimizer

CPU = torch.device("cpu")


def refuse(code: str, message: str) -> None:
    raise AssertionError(f"{code}: {message}")


def uneven_rows(count: int = 18) -> EncodedRows:
    rng, rows = random.Random(5), EncodedRows()
    for _ in range(count):
        length = rng.choice([6, 9, 15, 40, 90])
        tokens = [1] + [rng.randrange(3, 200) for _ in range(length - 1)]
        rows.add(labelled(tokens, rng.randrange(1, length - 1)))
    return rows


def our_losses(
    args: TrainingArgs, rows: EncodedRows, token_budget: int, device: torch.device = CPU
) -> tuple[list[float], dict[str, Any]]:
    model = add_adapter(load_causal_lm(TINY, device).model, args, refuse)
    model.train()
    parameters = trainable(model)
    optimizer = make_optimizer(args, list(parameters.values()), refuse)
    learning_rate = learning_rate_schedule(args, optimizer, args.max_steps)
    objective = Supervised(ForwardPass(model), rows)
    step = OptimizerStep(objective, optimizer, token_budget=token_budget, max_grad_norm=args.max_grad_norm)
    order = RowOrder(len(rows), args.rows_per_step, args.seed)
    losses = [float(step.run(order.rows_of(number), learning_rate(number)).loss) for number in range(args.max_steps)]
    return losses, {name: parameter.detach().clone() for name, parameter in parameters.items()}


@pytest.mark.parametrize("token_budget", [64, 4096])
def test_accuracy_and_entropy_are_means_over_the_targets_of_the_step(token_budget: int) -> None:
    args, rows = replace(USUAL_ARGS, max_steps=1), uneven_rows()
    model = add_adapter(load_causal_lm(TINY, CPU).model, args, refuse)
    right, count, entropy = 0, 0, 0.0
    for row in range(6):
        tokens, labels = rows.tokens(row), rows.labels(row)
        with torch.no_grad():
            logits = model(input_ids=tokens.long().unsqueeze(0)).logits[0]
        predicted = logits.argmax(-1)
        # The label of a position is the token behind it.
        learned = labels != NOT_LEARNED
        right += int((predicted[learned] == labels[learned]).sum())
        count += int(learned.sum())
        entropy += float(torch.distributions.Categorical(logits=logits[learned]).entropy().sum())
    optimizer = make_optimizer(args, list(trainable(model).values()), refuse)
    objective = Supervised(ForwardPass(model), rows)
    step = OptimizerStep(objective, optimizer, token_budget=token_budget, max_grad_norm=1.0)
    assert step.run(list(range(6)), 0.0).series.tolist() == pytest.approx([right / count, entropy / count])


def reference_losses(args: TrainingArgs, rows: EncodedRows, tmp_path: Path) -> tuple[list[float], dict[str, Any]]:
    order = RowOrder(len(rows), args.rows_per_step, args.seed)
    visited = [row for number in range(args.max_steps) for row in order.rows_of(number)]

    class InOrder(Trainer):
        def _get_train_sampler(self, *_args: Any) -> Any:
            return visited

    losses: list[float] = []

    class Losses(TrainerCallback):
        def on_log(self, *_args: Any, logs: dict[str, float], **_kwargs: Any) -> None:
            if "loss" in logs:
                losses.append(logs["loss"])

    def example(index: int) -> dict[str, list[int]]:
        ids, labels = rows.tokens(index).tolist(), rows.labels(index).tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": [-100, *labels[:-1]]}

    model = add_adapter(load_causal_lm(TINY, CPU).model, args, refuse)
    settings = TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=args.max_steps,
        per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        learning_rate=args.learning_rate,
        lr_scheduler_type=args.lr_scheduler_type,
        warmup_steps=args.warmup_steps,
        weight_decay=args.weight_decay,
        max_grad_norm=args.max_grad_norm,
        optim="adafactor" if args.optim == "adafactor" else "adamw_torch",
        seed=args.seed,
        save_strategy="no",
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        remove_unused_columns=False,
    )
    trainer = InOrder(
        model=model,
        args=settings,
        train_dataset=[example(index) for index in range(len(rows))],  # type: ignore[arg-type]
        data_collator=DataCollatorForSeq2Seq(load_tokenizer(TINY)),
        callbacks=[Losses()],
    )
    trainer.train()
    return losses, {name: parameter.detach().clone() for name, parameter in trainable(model).items()}


@pytest.mark.parametrize("optim", ["adamw_hf", "adafactor"])
def test_losses_and_adapter_equal_those_of_a_plain_padded_trainer(optim: str, tmp_path: Path) -> None:
    args = replace(
        USUAL_ARGS,
        max_steps=6,
        batch_size=3,
        gradient_accumulation_steps=2,
        r_value=8,
        lora_alpha=8,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        weight_decay=0.01,
        optim=optim,
    )
    rows = uneven_rows()
    ours, our_adapter = our_losses(args, rows, token_budget=200)
    theirs, their_adapter = reference_losses(args, rows, tmp_path)
    assert ours == pytest.approx(theirs, rel=1e-5)
    # Optimizers divide by the gradient's own size: where that is nothing but rounding (layer 0), so is the result.
    distances = [torch.dist(value, their_adapter[name]) / value.norm() for name, value in our_adapter.items()]
    assert statistics.median(map(float, distances)) < 1e-4


def test_several_answers_in_one_sequence_are_learned_as_if_each_stood_alone() -> None:
    """With another end token than the one that follows: the label decides."""
    tokens, ends = [1, *range(10, 40)], {9: 2, 19: 2, 29: 2}
    labels = [NOT_LEARNED] * len(tokens)
    apart = []
    for end, last in ends.items():
        answer = [*tokens[end - 3 : end + 1], last]
        labels[end - 4 : end + 1] = answer
        apart.append(labelled([*tokens[: end + 1], last], end - 3))
    packed, alone = EncodedRows(), EncodedRows()
    packed.add((tokens, labels))
    alone.add(*apart)
    assert packed.label_count(0) == sum(alone.label_count(sequence) for sequence in alone.sequences([0])) == 15
    args = replace(USUAL_ARGS, max_steps=4, batch_size=1, gradient_accumulation_steps=1, r_value=8, optim="adamw")
    assert our_losses(args, packed, 400)[0] == pytest.approx(our_losses(args, alone, 400)[0], rel=1e-5)


def test_the_layout_on_the_device_does_not_change_the_result() -> None:
    args = replace(USUAL_ARGS, max_steps=4, batch_size=9, gradient_accumulation_steps=1, r_value=8, optim="adamw")
    small, whole = (our_losses(args, uneven_rows(), budget)[0] for budget in (100, 100_000))
    assert small == pytest.approx(whole, rel=1e-5)


def test_a_step_that_does_not_fit_into_memory_is_done_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    args = replace(USUAL_ARGS, max_steps=2, batch_size=9, gradient_accumulation_steps=1, r_value=8, optim="adamw")
    expected, _ = our_losses(args, uneven_rows(), 100)
    original = OptimizerStep._backward

    def full_beyond_100_tokens(self: OptimizerStep, prepared: Step, units: list[Unit]) -> torch.Tensor:
        loss = original(self, prepared, units)
        if self.token_budget > 100:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return loss

    monkeypatch.setattr(OptimizerStep, "_backward", full_beyond_100_tokens)
    assert our_losses(args, uneven_rows(), 400)[0] == pytest.approx(expected, rel=1e-5)


def test_a_single_row_that_does_not_fit_is_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def always_full(_self: OptimizerStep, _step: Step, _units: list[Unit]) -> torch.Tensor:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(OptimizerStep, "_backward", always_full)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        our_losses(replace(USUAL_ARGS, max_steps=1, r_value=8), uneven_rows(), 400)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optim", ["adamw", "adafactor"])
def test_a_gpu_gives_the_losses_of_the_cpu_within_bf16(optim: str) -> None:
    args = replace(USUAL_ARGS, max_steps=6, batch_size=9, gradient_accumulation_steps=1, r_value=8, optim=optim)
    on_cpu, _ = our_losses(args, uneven_rows(), 400)
    on_gpu, adapter = our_losses(args, uneven_rows(), 400, torch.device("cuda", 0))
    assert on_gpu == pytest.approx(on_cpu, rel=2e-2)
    assert {value.dtype for value in adapter.values()} == {torch.float32}
