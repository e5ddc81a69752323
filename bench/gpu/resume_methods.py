"""Does a resumed training of each method equal the undisturbed one, bit for bit? In one process, with dropout.

python resume_methods.py [METHOD ...]
"""

import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import torch
from method_rows import ROWS_OF, prepared
from support.rollouts import Service, by_letter, prompts
from support.rollouts import method as sampling
from support.trainer_process import TINY
from support.training import train

from anneal_runtime.model_source import LoadedModel, choose_device, load_causal_lm
from anneal_runtime.trainer.four_bit import load_in_4bit
from anneal_runtime.trainer.method import Method

# The trainer hides the package from PEFT, so the usual question is answered with no.
HAS_4BIT = PathFinder.find_spec("bitsandbytes") is not None
ARGS: dict[str, Any] = {"max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
VARIANTS: dict[str, dict[str, Any]] = {"": {}, ", 4-bit base": {"load_in_4bit": True}}


def main() -> None:
    for name in sys.argv[1:] or ROWS_OF:
        for variant, changes in VARIANTS.items():
            if changes and not HAS_4BIT:
                continue
            print(f"{name}{variant}, resumed after step 3 of 6: {compare(name, changes)}", flush=True)


def compare(name: str, changes: dict[str, Any]) -> str:
    def base() -> LoadedModel:
        return (load_in_4bit if changes else load_causal_lm)(TINY, choose_device())

    is_sampled = name == "reinforcement"
    rows = prompts(6) if is_sampled else [prepared(row) for row in ROWS_OF[name]()]
    method = sampling(num_iterations=2) if is_sampled else Method.from_json({"type": name})
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
        return "equal bit for bit"
    apart = max(float((value - whole.weights[key]).abs().max()) for key, value in resumed.weights.items())
    return f"weights differ by {apart:.1e} at most"


if __name__ == "__main__":
    main()
