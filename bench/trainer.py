"""Trainer throughput: ours against a plain padded transformers.Trainer + peft run of the same model, rows and order.

    PYTHONPATH=runtime python bench/trainer.py [--rows 160] [--steps 20] [--batch 8] [--rounds 3] [--model FOLDER]
        [--packed]

With --packed our own trainer with packed rows is another side.

Row lengths are lognormal, as those of questions with answers are: few long rows among many short ones. The sides run
alternately in this one process, so that a busy machine slows both; tokens are the rows' own, without padding.
"""

import argparse
import gc
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch
import transformers
from transformers import Trainer, TrainerCallback, TrainingArguments

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.row_sequences import NOT_LEARNED, labelled
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.packing import ALWAYS, packed_line_tokens
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import TrainingArgs, learning_rate_schedule, make_optimizer

MODEL = Path(__file__).resolve().parents[1] / "models" / "anneal-tiny"
MEDIAN_TOKENS, SIGMA, SHORTEST, LONGEST = 90, 0.8, 12, 900

# The tensors of a row, or of rows that are padded to one length, by the names that transformers has for them.
Example = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Measured:
    tokens_per_second: float
    last_loss: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 160), ("steps", 20), ("batch", 8), ("accumulation", 1), ("rank", 64), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="of the base; by default that of a training")
    parser.add_argument(
        "--sigma", type=float, default=SIGMA, help="spread of the rows' lengths; 0: all are equally long"
    )
    parser.add_argument("--packed", action="store_true", help="measure packed rows, too")
    options = parser.parse_args()
    sides = {"ours": run_ours, **({"packed": run_packed} if options.packed else {}), "plain": run_plain}
    args = replace(
        TrainingArgs(**DEFAULT_ARGS),
        max_steps=options.steps,
        batch_size=options.batch,
        gradient_accumulation_steps=options.accumulation,
        r_value=options.rank,
        lora_alpha=options.rank,
        optim="adamw_torch",
    )
    transformers.utils.logging.set_verbosity_error()
    device = choose_device()
    base = load_causal_lm(options.model, device, options.dtype and getattr(torch, options.dtype)).model
    dtype, rows = base.dtype, make_rows(options.rows, base.config.vocab_size, options.sigma)
    del base
    describe(rows, options.sigma, args)
    found: dict[str, list[Measured]] = {side: [] for side in sides}
    for number in range(options.rounds + 1):
        measured = {
            side: measure(run, options.model, device, dtype, rows, args, tells=number > 0)
            for side, run in sides.items()
        }
        if number == 0:
            continue  # the first round warms all up
        for side, each in measured.items():
            found[side].append(each)
        speeds = ", ".join(f"{side} {each.tokens_per_second:,.0f} tokens/s" for side, each in measured.items())
        print(f"round {number}: {speeds}", flush=True)
    for side in [side for side in sides if side != "plain"]:
        pairs = zip(found[side], found["plain"], strict=True)
        ratios = [ours.tokens_per_second / plain.tokens_per_second for ours, plain in pairs]
        print(
            f"{side} / plain: median {statistics.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f}), "
            "target 1.5"
        )
    losses = {side: each[-1].last_loss for side, each in found.items()}
    print(f"loss of the last step: {', '.join(f'{side} {loss:.6f}' for side, loss in losses.items())}")
    allowed = 2e-2 if dtype is torch.bfloat16 else 1e-3
    same = all(math.isclose(loss, losses["plain"], rel_tol=allowed) for loss in losses.values())
    sys.exit(0 if same else "the losses differ")


def measure(
    run: Callable[..., Measured],
    model_path: Path,
    device: torch.device,
    dtype: torch.dtype,
    rows: EncodedRows,
    args: TrainingArgs,
    *,
    tells: bool,
) -> Measured:
    if device.type != "cuda":
        return run(model_path, device, rows, args, dtype)
    # Modules know each other in circles.
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    # The plain side has torch's own kernels.
    torch.backends.cuda.enable_cudnn_sdp(True)
    measured = run(model_path, device, rows, args, dtype)
    if tells:
        print(f"{run.__name__}: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at its peak")
    return measured


def make_rows(count: int, vocabulary: int, sigma: float = SIGMA) -> EncodedRows:
    rng, rows = random.Random(3), EncodedRows()
    for _ in range(count):
        length = min(max(round(rng.lognormvariate(math.log(MEDIAN_TOKENS), sigma)), SHORTEST), LONGEST)
        # Tokens come from a small part of the vocabulary, so that there is something to learn.
        tokens = [1] + [3 + min(int(rng.expovariate(0.05)), vocabulary - 4) for _ in range(length - 1)]
        rows.add(labelled(tokens, max(1, int(length * rng.uniform(0.2, 0.8)))))
    return rows


def describe(rows: EncodedRows, sigma: float, args: TrainingArgs) -> None:
    lengths = sorted(rows.length(index) for index in range(len(rows)))
    order = RowOrder(len(rows), args.rows_per_step, args.seed)
    real = padded = 0
    for step in range(args.max_steps):
        visited = [rows.length(index) for index in order.rows_of(step)]
        for start in range(0, len(visited), args.batch_size):
            batch = visited[start : start + args.batch_size]
            real, padded = real + sum(batch), padded + len(batch) * max(batch)
    print(
        f"{len(rows)} rows, lengths lognormal(median {MEDIAN_TOKENS}, sigma {sigma}) within {SHORTEST}..{LONGEST}: "
        f"p10 {lengths[len(rows) // 10]}, p50 {lengths[len(rows) // 2]}, p90 {lengths[len(rows) * 9 // 10]}, "
        f"mean {statistics.mean(lengths):.0f}; batch {args.batch_size} x {args.gradient_accumulation_steps}: "
        f"plain padding makes {100 * (1 - real / padded):.0f} % of its tokens"
    )


def run_ours(
    model_path: Path,
    device: torch.device,
    rows: EncodedRows,
    args: TrainingArgs,
    dtype: torch.dtype | None = None,
    packing: str | None = None,
) -> Measured:
    model = add_adapter(load_causal_lm(model_path, device, dtype).model, args, print)
    model.train()
    optimizer = make_optimizer(args, list(trainable(model).values()), print)
    learning_rate = learning_rate_schedule(args, optimizer, args.max_steps)
    forward = ForwardPass(model, line_tokens=packed_line_tokens(packing, model, print))
    budget, objective = forward.token_budget(rows.longest(), args.batch_size), Supervised(forward, rows)
    step = OptimizerStep(objective, optimizer, token_budget=budget, max_grad_norm=args.max_grad_norm)
    order, tokens = RowOrder(len(rows), args.rows_per_step, args.seed), 0
    started = time.perf_counter()
    for number in range(args.max_steps):
        outcome = step.run(order.rows_of(number), learning_rate(number))
        tokens += outcome.token_count
    last_loss = float(outcome.loss)
    return Measured(tokens / (time.perf_counter() - started), last_loss)


def run_packed(
    model_path: Path, device: torch.device, rows: EncodedRows, args: TrainingArgs, dtype: torch.dtype | None = None
) -> Measured:
    """In lines of the length that `auto` has on the device."""
    return run_ours(model_path, device, rows, args, dtype, packing=ALWAYS)


def run_plain(
    model_path: Path, device: torch.device, rows: EncodedRows, args: TrainingArgs, dtype: torch.dtype | None = None
) -> Measured:
    order = RowOrder(len(rows), args.rows_per_step, args.seed)
    visited = [row for number in range(args.max_steps) for row in order.rows_of(number)]
    model = add_adapter(load_causal_lm(model_path, device, dtype).model, args, print)
    settings = TrainingArguments(
        output_dir="unused",
        max_steps=args.max_steps,
        per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        learning_rate=args.learning_rate,
        lr_scheduler_type=args.lr_scheduler_type,
        max_grad_norm=args.max_grad_norm,
        optim=args.optim,
        weight_decay=0.0,
        seed=args.seed,
        save_strategy="no",
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=device.type == "cpu",
        bf16=model.get_base_model().dtype is torch.bfloat16,
    )
    clock = StepClock()
    trainer = InOrder(
        model=model, args=settings, train_dataset=Examples(rows), data_collator=pad, callbacks=[clock], order=visited
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    tokens = sum(rows.length(index) for index in visited)
    return Measured(tokens / (clock.ended - clock.started), clock.last_loss)


class StepClock(TrainerCallback):
    """Measures from the start of the first step to the end of the last, without set-up and final report."""

    def on_train_begin(self, *_args: Any, **_kwargs: Any) -> None:
        self.started = time.perf_counter()

    def on_step_end(self, *_args: Any, **_kwargs: Any) -> None:
        self.ended = time.perf_counter()

    def on_log(self, _args: Any, _state: Any, _control: Any, logs: dict[str, float], **_kwargs: Any) -> None:
        self.last_loss = logs.get("loss", getattr(self, "last_loss", math.nan))


class InOrder(Trainer):
    def __init__(self, *args: Any, order: list[int], **kwargs: Any) -> None:
        self.order = order
        super().__init__(*args, **kwargs)

    def _get_train_sampler(self, *_args: Any) -> list[int]:
        return self.order


class Examples(torch.utils.data.Dataset[Example]):
    def __init__(self, rows: EncodedRows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Example:
        tokens = self.rows.tokens(index)
        # transformers wants each token's label beside the token, not beside the one before it.
        labels = torch.cat([torch.tensor([NOT_LEARNED]), self.rows.labels(index)[:-1]])
        return {"input_ids": tokens, "labels": labels}


def pad(examples: list[Example]) -> Example:
    def stack(key: str, value: int) -> torch.Tensor:
        return torch.nn.utils.rnn.pad_sequence([e[key] for e in examples], batch_first=True, padding_value=value)

    mask = [torch.ones(len(example["input_ids"]), dtype=torch.long) for example in examples]
    return {
        "input_ids": stack("input_ids", 0),
        "labels": stack("labels", -100),
        "attention_mask": torch.nn.utils.rnn.pad_sequence(mask, batch_first=True),
    }


if __name__ == "__main__":
    main()
