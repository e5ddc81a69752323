"""A step that does not fit into the GPU's memory: how often the trainer halves it, and how much the losses differ.

Without a GPU nothing is measured: there is no limit to set. `test_step.py` has the CPU's twin.
"""

from dataclasses import replace

import torch
from trainer import MODEL

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.row_sequences import labelled
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import TrainingArgs, learning_rate_schedule, make_optimizer

ROWS, BUDGET, STEPS = 64, 100_000, 2


def main() -> None:
    if not torch.cuda.is_available():
        print("no GPU: nothing to measure")
        return
    losses, budget, peak = train(None)
    free = peak // 3
    smaller, halved, _ = train(free)
    apart = max(abs(a - b) for a, b in zip(losses, smaller, strict=True))
    print(
        f"{ROWS} rows in {peak / 2**20:,.0f} MiB: {budget:,} tokens at once. With {free / 2**20:,.0f} MiB: {halved:,} "
        f"tokens at once. The losses of {STEPS} steps differ by {apart:.1e} at most."
    )


def train(allowed: int | None) -> tuple[list[float], int, int]:
    """Losses, tokens a pass after the last step, bytes at the peak."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    usual = TrainingArgs(**DEFAULT_ARGS)
    args = replace(usual, max_steps=STEPS, batch_size=ROWS, gradient_accumulation_steps=1, optim="adamw_torch")
    model = add_adapter(load_causal_lm(MODEL, choose_device()).model, args, print)
    model.train()
    optimizer = make_optimizer(args, list(trainable(model).values()), print)
    learning_rate = learning_rate_schedule(args, optimizer, STEPS)
    rows = EncodedRows()
    for row in range(ROWS):
        rows.add(labelled([1 + (row + at) % 900 for at in range(300 + 9 * row)], 50))
    objective = Supervised(ForwardPass(model), rows)
    step = OptimizerStep(objective, optimizer, token_budget=BUDGET, max_grad_norm=1.0)
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.set_per_process_memory_fraction(1.0 if allowed is None else allowed / total)
    losses = [float(step.run(list(range(ROWS)), learning_rate(number)).loss) for number in range(STEPS)]
    torch.cuda.set_per_process_memory_fraction(1.0)
    return losses, step.token_budget, torch.cuda.max_memory_reserved()


if __name__ == "__main__":
    main()
