"""Does a resumed training of each method equal the undisturbed one, bit for bit? In one process, with dropout.

    python resume_methods.py MODEL [METHOD ...]

On a GPU some rows are longer than a tile of the attention kernels, whose gradients do not repeat by themselves.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from method_rows import ROWS_OF, Row, prepared
from packages import HAS_4BIT
from support.rollouts import Service, by_letter, prompts
from support.rollouts import method as sampling
from support.training import train

from anneal_runtime.model_source import LoadedModel, choose_device, load_causal_lm
from anneal_runtime.trainer.four_bit import load_in_4bit
from anneal_runtime.trainer.method import Method

GPU = torch.cuda.is_available()
ARGS: dict[str, Any] = {"max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    ", packed": {"packing": "auto"},
    ", checkpointing": {"gradient_checkpointing": True},
    ", 4-bit base": {"load_in_4bit": True},
}
# The CPU's tests resume the others.
if not GPU:
    del VARIANTS[", packed"], VARIANTS[", checkpointing"]
TIMES_LONGER = 6 if GPU else 1


def main() -> None:
    model, failed = Path(sys.argv[1]), False
    for name in sys.argv[2:] or ROWS_OF:
        for variant, changes in VARIANTS.items():
            if "load_in_4bit" in changes and not HAS_4BIT:
                continue
            try:
                said = compare(name, changes, model)
            except Exception as error:
                said = f"failed: {type(error).__name__}: {error}"
            failed = failed or said != EQUAL
            print(f"{name}{variant}, resumed after step 3 of 6: {said}", flush=True)
    sys.exit(1 if failed else 0)


EQUAL = "equal bit for bit"


def compare(name: str, changes: dict[str, Any], model: Path) -> str:
    def base() -> LoadedModel:
        return (load_in_4bit if "load_in_4bit" in changes else load_causal_lm)(model, choose_device())

    is_sampled = name == "reinforcement"
    rows = prompts(6) if is_sampled else [longer(prepared(row)) for row in ROWS_OF[name]()]
    # Answers as long as those rows, whose advantages differ.
    method = Method.from_json({"type": name})
    if is_sampled:
        method = sampling(num_iterations=2, **({"max_completion_tokens": 200} if GPU else {}))
    # What is sampled is committed, so the next attempt reads it.
    settings = {**ARGS, **changes, **({"rollouts": Service(by_letter).plan()} if is_sampled else {})}
    with tempfile.TemporaryDirectory() as folder:
        whole = train(Path(folder) / "whole", rows, None, method=method, base=base(), **settings)
        resumed = train(
            Path(folder) / "resumed",
            rows,
            None,
            method=method,
            base=base(),
            checkpoint=whole.checkpoints[3],
            **settings,
        )
    if all(torch.equal(value, whole.weights[key]) for key, value in resumed.weights.items()):
        return EQUAL
    apart = max(float((value - whole.weights[key]).abs().max()) for key, value in resumed.weights.items())
    return f"weights differ by {apart:.1e} at most"


def longer(row: Row) -> Row:
    return {name: value * TIMES_LONGER if isinstance(value, str) else value for name, value in row.items()}


if __name__ == "__main__":
    main()
