"""Each method on a model of random weights: tokens/s and memory of ours in its variants, and of TRL.

    python compare_methods.py MODEL [--only METHOD] [--steps N] [--out FILE]

Prints a row of a table for each, once it is known. Both sides get the same rows in the same order, in the number format
that a training has on the device; their first steps warm up and are not counted. A variant that fails costs its own row
alone. Without TRL (bench/trl.txt) ours runs alone. On a CPU no memory is measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from estimates import beside
from method_rows import ANSWERS, PROMPTS, ROWS_OF, Row, prepared
from packages import HAS_4BIT

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.adapter import Origin
from anneal_runtime.trainer.four_bit import load_in_4bit
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.packing import ALWAYS
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.repeatable import Repeatable
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan, TrainingRun

GPU = torch.cuda.is_available()
# Short rows, of which a GPU takes many.
RANK, BATCH, PROMPTS_A_STEP, WARM_UP = (64, 16, PROMPTS, 3) if GPU else (8, 2, 1, 0)
# A CPU packs only when it must.
PACKED = {"packing": "auto" if GPU else ALWAYS}
AS_IT_IS, TRL, FAST = "as it is", "TRL, padded", "kernels that do not repeat"
# By worth: what comes after a variant that broke the device fails, too.
OURS: dict[str, Row] = {AS_IT_IS: {}, "packed": PACKED}
THEIRS: dict[str, Row] = {TRL: {}, "TRL, padding-free": {"padding_free": True}}
OURS_TOO: dict[str, Row] = {
    "checkpointing": {"gradient_checkpointing": True},
    FAST: {},
    "4-bit": {"load_in_4bit": True},
}
SAME_LOSS = (AS_IT_IS, "packed", "checkpointing", TRL)


@dataclass(frozen=True)
class Measured:
    """`asked` is what an estimate of the memory reads. The memory is in GiB: what torch gave away at its peak, and what
    the card then lacked, with the driver's own.
    """

    tokens: int
    seconds: float
    loss: float
    allocated: float | None
    in_use: float | None
    asked: Row | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--only", choices=ROWS_OF, action="append")
    parser.add_argument("--steps", type=int, default=12 if GPU else 1)
    parser.add_argument("--out", type=Path, help="each row as a line of JSON, added to this file")
    options = parser.parse_args()
    print(
        "| Method | Variant | Tokens/s | of as it is | Allocated, GiB | In use, GiB | Estimated, GiB | of in use "
        f"| Last loss |\n|{'---|' * 9}"
    )
    wrong = [each for name in options.only or ROWS_OF for each in Comparison(name, options).run()]
    sys.exit("; ".join(wrong) if wrong else 0)


class Comparison:
    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self._name, self._model, self._out = name, options.model, options.out
        is_sampled = name == "reinforcement"
        self._args = replace(
            TrainingArgs(**DEFAULT_ARGS),
            max_steps=options.steps + WARM_UP,
            batch_size=PROMPTS_A_STEP if is_sampled else BATCH,
            gradient_accumulation_steps=1,
            r_value=RANK,
            lora_alpha=RANK,
            learning_rate=1e-4,
            optim="adamw_torch",
        )
        self._rows = ROWS_OF[name]()
        self._found: dict[str, Measured] = {}
        self._wrong: list[str] = []

    def run(self) -> list[str]:
        """What went wrong."""
        self._each(OURS, self._train)
        self._each(THEIRS, self._train_by_trl)
        self._each(OURS_TOO, self._train)
        losses = [found.loss for variant, found in self._found.items() if variant in SAME_LOSS]
        allowed = 2e-2 if GPU else 1e-3
        if any(abs(loss - losses[0]) > allowed * max(1.0, abs(loss)) for loss in losses):
            self._wrong.append(f"{self._name}: the losses differ")
        return self._wrong

    def _each(self, variants: dict[str, Row], train: Callable[[str, Row], Measured | None]) -> None:
        for variant, changes in variants.items():
            try:
                found = train(variant, changes)
            except Exception as error:
                said = (str(error).strip() or type(error).__name__).splitlines()[0]
                self._wrong.append(f"{self._name}, {variant}: failed")
                print(f"{self._name}, {variant}: failed: {type(error).__name__}: {said}", flush=True)
                continue
            finally:
                let_go()
            if found is not None:
                self._found[variant] = found
                self._tell(variant, found)

    def _tell(self, variant: str, found: Measured) -> None:
        speed = found.tokens / found.seconds
        usual = self._found.get(AS_IT_IS, found)
        line = {
            "what": f"{self._name}, {variant}",
            "tokens_per_second": round(speed, 1),
            "allocated": found.allocated,
            "in_use": found.in_use,
            "loss": found.loss,
            "asked": found.asked,
        }
        if self._out is not None:
            with self._out.open("a") as file:
                file.write(f"{json.dumps(line)}\n")
        estimated = None if found.asked is None else beside(found.asked)
        of_use = None if estimated is None or found.in_use is None else f"{estimated / found.in_use:.2f}"
        figures = [
            f"{speed:,.0f}",
            f"{speed * usual.seconds / usual.tokens:.2f}",
            *("" if gib is None else f"{gib:.2f}" for gib in (found.allocated, found.in_use, estimated)),
            of_use or "",
            f"{found.loss:.5f}",
        ]
        print(f"| {' | '.join([self._name, variant, *figures])} |", flush=True)

    def _train(self, variant: str, changes: Row) -> Measured | None:
        if variant == FAST and not (GPU and self._name == "supervised"):
            return None
        if "load_in_4bit" in changes and not HAS_4BIT:
            print(f"{self._name}, {variant}: bitsandbytes is not installed")
            return None
        args, name = replace(self._args, **changes), self._name
        updates = {"num_iterations": args.max_steps} if name == "reinforcement" else {}
        method = Method.from_json({"type": name, name: {"hyperparameters": updates}})
        base = (load_in_4bit if args.load_in_4bit else load_causal_lm)(self._model, choose_device())
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "train.jsonl"
            data.write_text("".join(f"{json.dumps(prepared(row))}\n" for row in self._rows))
            plan = Plan(args, method, Origin("bench", "", ""), data, None, Path(folder), None, None)
            run = prepare_run(plan, base, lambda _code, _message: None)
            if variant == FAST:
                run.optimizer_step.repeatable = Repeatable(torch.device("cpu"))
                torch.backends.cuda.enable_cudnn_sdp(True)
            clock = Clock()
            clock.begin()
            run.follow(lambda: False, lambda: clock.step(run.state.step, run.state.tokens_seen))
            return clock.measured(run.state.tokens_seen, float(run.newest.loss), asked(run, self._model))

    def _train_by_trl(self, variant: str, changes: Row) -> Measured | None:
        if changes and self._name != "supervised":
            return None
        missing = [name for name in ("trl", "datasets") if find_spec(name) is None]
        if missing:
            print(f"{self._name}, {variant}: not compared, {' and '.join(missing)} not installed")
            return None
        import datasets
        import methods

        # Each side with its own kernels.
        torch.backends.cuda.enable_cudnn_sdp(True)
        datasets.disable_progress_bars()
        transformers.utils.logging.set_verbosity_error()
        loaded, methods.ITERATIONS = load_causal_lm(self._model, choose_device()), self._args.max_steps
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(self._args.seed)
            visited = methods.in_order(self._rows, self._args, self._name)
            shared = methods.settings(folder, self._args, loaded.model.dtype)
            trainer, clock = methods.make_trainer(self._name, visited, loaded, shared, **changes), Clock()
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.add_callback(StepTeller(clock))
            clock.begin()
            trainer.train()
            losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return clock.measured(0, losses[-1] if losses else math.nan, tokens=self._found[AS_IT_IS].tokens)


class Clock:
    """Measures the steps after those that warm up."""

    def begin(self) -> None:
        let_go()
        if GPU:
            torch.cuda.reset_peak_memory_stats()
        self.step(WARM_UP, 0)

    def step(self, number: int, tokens_seen: int) -> None:
        if number == WARM_UP:
            synchronize()
            self._since, self._tokens_before = time.perf_counter(), tokens_seen

    def measured(self, tokens_seen: int, loss: float, asked: Row | None = None, tokens: int | None = None) -> Measured:
        synchronize()
        seconds, allocated, in_use = time.perf_counter() - self._since, None, None
        if GPU:
            free, total = torch.cuda.mem_get_info()
            # This counts the memory that torch keeps for later, too.
            allocated, in_use = torch.cuda.max_memory_allocated() / 2**30, (total - free) / 2**30
        return Measured(tokens or tokens_seen - self._tokens_before, seconds, loss, allocated, in_use, asked)


class StepTeller(transformers.TrainerCallback):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def on_step_end(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
        self._clock.step(state.global_step, 0)


def asked(run: TrainingRun, model: Path) -> Row:
    """What the estimate of a dry run reads."""
    rows, args = run.optimizer_step.objective.rows, run.plan.args
    sequences = range(rows.sequence_count)
    return {
        "isGpu": GPU,
        "config": json.loads((model / "config.json").read_text()),
        "args": {
            key: getattr(args, key) for key in ("batch_size", "r_value", "load_in_4bit", "gradient_checkpointing")
        },
        "longest": rows.longest(),
        "rowsPerStep": args.rows_per_step * (ANSWERS if run.plan.method.type == "reinforcement" else 1),
        "learned": sum(map(rows.label_count, sequences)) / sum(map(rows.length, sequences)),
        "hasReference": run.plan.method.type != "supervised",
    }


def synchronize() -> None:
    if GPU:
        torch.cuda.synchronize()


def let_go() -> None:
    """Of the run before, whose parts know each other in circles."""
    gc.collect()
    if GPU:
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
