"""Each method on a model of random weights: tokens/s and the peak of the memory, of ours in its variants and of TRL.

    python compare_methods.py MODEL [--only METHOD] [--steps N]

Both sides get the same rows in the same order, in the number format that a training has on the device. Where node is
installed, the estimate of a dry run stands beside each peak of ours. Without TRL (bench/trl.txt) ours runs alone. On a
CPU no peak is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import torch
from method_rows import ANSWERS, PROMPTS, ROWS_OF, Row, prepared

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.adapter import Origin
from anneal_runtime.trainer.four_bit import load_in_4bit
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.packing import ALWAYS
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan, TrainingRun

GPU = torch.cuda.is_available()
# The trainer hides the package from PEFT, so the usual question is answered with no.
HAS_4BIT = PathFinder.find_spec("bitsandbytes") is not None
# Short rows, of which a GPU takes many.
RANK, BATCH, PROMPTS_A_STEP = (64, 16, PROMPTS) if GPU else (8, 2, 1)
# A CPU packs only when it must.
PACKED = {"packing": "auto" if GPU else ALWAYS}
VARIANTS: dict[str, Row] = {
    "as it is": {},
    "4-bit base": {"load_in_4bit": True},
    "checkpointing": {"gradient_checkpointing": True},
    "packed": PACKED,
}


@dataclass(frozen=True)
class Measured:
    seconds: float
    loss: float
    peak_gib: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--only", choices=ROWS_OF, action="append")
    parser.add_argument("--steps", type=int, default=12 if GPU else 1)
    options = parser.parse_args()
    differ = [name for name in options.only or ROWS_OF if not compare(name, options.model, options.steps)]
    sys.exit(f"the losses differ: {', '.join(differ)}" if differ else 0)


def compare(name: str, model: Path, steps: int) -> bool:
    """Whether the last losses agree."""
    is_sampled = name == "reinforcement"
    args = replace(
        TrainingArgs(**DEFAULT_ARGS),
        max_steps=steps,
        batch_size=PROMPTS_A_STEP if is_sampled else BATCH,
        gradient_accumulation_steps=1,
        r_value=RANK,
        lora_alpha=RANK,
        learning_rate=1e-4,
        optim="adamw_torch",
    )
    rows = ROWS_OF[name]()
    tokens, losses = 0, dict[str, float]()
    for variant, changes in VARIANTS.items():
        if "load_in_4bit" in changes and not HAS_4BIT:
            print(f"{name}, {variant}: bitsandbytes is not installed")
            continue
        changed = replace(args, **changes)
        if GPU:
            train(name, rows, replace(changed, max_steps=2), model)  # warms up
        run, measured = train(name, rows, changed, model)
        tokens = run.state.tokens_seen
        losses.setdefault("ours", measured.loss)
        tell(f"{name}, {variant}", tokens, measured, estimated(run, model))
    for variant, more in TRL_VARIANTS.items():
        if more and name != "supervised":
            continue
        theirs = train_by_trl(name, rows, args, model, more)
        if theirs is not None:
            losses[variant] = theirs.loss
            tell(f"{name}, {variant}", tokens, theirs)
    allowed = 2e-2 if GPU else 1e-3
    return all(abs(loss - losses["ours"]) <= allowed * max(1.0, abs(loss)) for loss in losses.values())


def tell(what: str, tokens: int, measured: Measured, more: str = "") -> None:
    peak = "" if measured.peak_gib is None else f", {measured.peak_gib:.2f} GiB at its peak"
    speed = f"{tokens / measured.seconds:,.0f} tokens/s"
    print(f"{what}: {speed}{peak}; last loss {measured.loss:.5f}{more}", flush=True)


def measure(work: Any) -> tuple[float, float | None]:
    """Seconds, and GiB at the peak."""
    if GPU:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    work()
    if GPU:
        torch.cuda.synchronize()
    peak = torch.cuda.max_memory_reserved() / 2**30 if GPU else None
    return time.perf_counter() - started, peak


def train(name: str, rows: list[Row], args: TrainingArgs, model: Path) -> tuple[TrainingRun, Measured]:
    empty_cache()
    updates = {"num_iterations": args.max_steps} if name == "reinforcement" else {}
    method = Method.from_json({"type": name, name: {"hyperparameters": updates}})
    base = (load_in_4bit if args.load_in_4bit else load_causal_lm)(model, choose_device())
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "train.jsonl"
        data.write_text("".join(f"{json.dumps(prepared(row))}\n" for row in rows))
        plan = Plan(args, method, Origin("bench", "", ""), data, None, Path(folder), None, None)
        run = prepare_run(plan, base, lambda _code, _message: None)
        seconds, peak = measure(lambda: run.follow(lambda: False))
    return run, Measured(seconds, float(run.newest.loss), peak)


def estimated(run: TrainingRun, model: Path) -> str:
    """The memory that a dry run foretells, by the code of the service."""
    node = shutil.which("node")
    if node is None:
        return "; no node, so no estimate"
    rows, args = run.optimizer_step.objective.rows, run.plan.args
    sequences = range(rows.sequence_count)
    asked = {
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
    script = Path(__file__).with_name("estimate.ts")
    found = subprocess.run([node, script], input=json.dumps(asked), capture_output=True, text=True, check=True)
    memory = json.loads(found.stdout)
    parts = ", ".join(f"{part} {gib:.2f}" for part, gib in memory["parts"].items())
    return f"; estimated {memory['estimated']:.2f} GiB ({parts})"


TRL_VARIANTS: dict[str, Row] = {"TRL, padded": {}, "TRL, padding-free": {"padding_free": True}}


def train_by_trl(name: str, rows: list[Row], args: TrainingArgs, model: Path, more: Row) -> Measured | None:
    try:
        import datasets
        import methods
        import transformers
        from trainer import StepClock
    except ImportError as error:
        print(f"{name}, TRL: not compared, {error}")
        return None
    datasets.disable_progress_bars()
    transformers.utils.logging.set_verbosity_error()
    empty_cache()
    loaded, methods.ITERATIONS = load_causal_lm(model, choose_device()), args.max_steps
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(args.seed)
        visited = methods.in_order(rows, args, name)
        shared = methods.settings(folder, args, loaded.model.dtype)
        try:
            trainer, clock = methods.make_trainer(name, visited, loaded, shared, **more), StepClock()
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.add_callback(clock)
            _, peak = measure(trainer.train)
        except (ValueError, RuntimeError, ImportError) as error:
            # Without flash attention it takes no packed rows.
            print(f"{name}, {more}: TRL refuses, {str(error).splitlines()[0]}")
            return None
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return Measured(clock.ended - clock.started, losses[-1] if losses else math.nan, peak)


def empty_cache() -> None:
    if GPU:
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
