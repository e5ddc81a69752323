"""The cost of validation: time spent on held-out rows against the rest of the training loop.

    PYTHONPATH=runtime python bench/validation.py [--steps 100] [--rounds 3] [--rows 2 8 32] [--keep best]

2,000 rows are trained on, 100 are held out. Without a GPU it measures processor time, as other programs may run beside.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.adapter import Origin
from anneal_runtime.trainer.held_out import HeldOut, Validated
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.termination import Termination
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan

MODEL = Path(__file__).resolve().parents[1] / "models" / "anneal-tiny"


class Nowhere:
    """Stands for the reporter and the uploader: reports and saves nothing."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args: None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", default=[2, 8, 32], help="rows of a step")
    parser.add_argument("--keep", default="last", help="best: with the rows that a choice of the best step needs")
    parser.add_argument("--model", type=Path, default=MODEL)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "train", 2000)
        write_rows(folder / "held_out", 100)
        for rows in options.rows:
            args = replace(
                TrainingArgs(**DEFAULT_ARGS),
                max_steps=options.steps,
                batch_size=rows,
                gradient_accumulation_steps=1,
                max_length=512,
                keep=options.keep,
                save_steps=1_000_000,
            )
            costs = [cost(folder, options.model, args) for _ in range(options.rounds)]
            seen = f"{statistics.median(costs):+.1%} (from {min(costs):+.1%} to {max(costs):+.1%})"
            print(f"{rows} rows a step, keep {options.keep}: {seen}", flush=True)


def write_rows(path: Path, count: int) -> None:
    rng = random.Random(count)
    words = ["amber", "basalt", "cobalt", "drift", "ember", "lamp", "kettle", "drill", "north", "river"]
    with path.open("w") as lines:
        for number in range(count):
            output = " ".join(rng.choice(words) for _ in range(rng.choice([4, 8, 12, 20])))
            lines.write(json.dumps({"input": f"Question: What is number {number}?\nAnswer: ", "output": output}) + "\n")


def cost(folder: Path, model: Path, args: TrainingArgs) -> float:
    """Seconds of all validations to a second of the rest of the training loop."""
    device = choose_device()
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    method, origin = Method.from_json(None), Origin("bench", "", "")
    plan = Plan(args, method, origin, folder / "train", folder / "held_out", folder, None, None)
    run = prepare_run(plan, load_causal_lm(model, device), lambda _code, _message: None)
    measure, validating = HeldOut.measure, 0.0

    def timed(self: HeldOut, stop_requested: Callable[[], bool]) -> Validated | None:
        nonlocal validating
        since = clock()
        validated = measure(self, stop_requested)
        validating += clock() - since
        return validated

    HeldOut.measure = timed  # type: ignore[method-assign]
    since = clock()
    run.train(cast(Any, Nowhere()), cast(Any, Nowhere()), Termination())
    HeldOut.measure = measure  # type: ignore[method-assign]
    return validating / (clock() - since - validating)


if __name__ == "__main__":
    main()
