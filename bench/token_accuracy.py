"""The cost of the token accuracy of training: time spent on it against the rest of the steps.

    PYTHONPATH=runtime python bench/token_accuracy.py [--rows 160] [--steps 20] [--batch 8] [--rounds 3]

Both are measured in the same steps. Without a GPU it measures processor time, as other programs may run beside.
"""

import argparse
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch
from trainer import MODEL, make_rows, run_ours

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.training_args import TrainingArgs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 160), ("steps", 20), ("batch", 8), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--model", type=Path, default=MODEL)
    options = parser.parse_args()
    args = replace(
        TrainingArgs(**DEFAULT_ARGS), max_steps=options.steps, batch_size=options.batch, gradient_accumulation_steps=1
    )
    vocabulary = load_causal_lm(options.model, choose_device()).model.config.vocab_size
    rows = make_rows(options.rows, vocabulary)
    costs = [cost(options.model, rows, args) for _ in range(options.rounds + 1)][1:]  # the first round warms up
    print(
        f"token accuracy, {options.batch} rows a step, {vocabulary:,} tokens in the vocabulary: "
        f"{statistics.median(costs):+.2%} (from {min(costs):+.2%} to {max(costs):+.2%})"
    )


def cost(model: Path, rows: EncodedRows, args: TrainingArgs) -> float:
    """Seconds spent on the choice of the likeliest tokens to a second of the rest."""
    device = choose_device()
    argmax, counting = torch.Tensor.argmax, 0.0

    def clock() -> float:
        if device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def timed(self: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
        nonlocal counting
        since = clock()
        chosen = argmax(self, *arguments, **options)
        counting += clock() - since
        return chosen

    with mock.patch.object(torch.Tensor, "argmax", timed):
        since = clock()
        run_ours(model, device, rows, args)
        return counting / (clock() - since - counting)


if __name__ == "__main__":
    main()
