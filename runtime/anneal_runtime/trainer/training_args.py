"""The arguments of a run, as the claim names them, and the optimizer and schedule that they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from anneal_runtime.contract import DEFAULT_ARGS

Note = Callable[[str, str], None]

ADAMW_NAMES = {"adamw", "adamw_hf", "adamw_torch", "adamw_torch_fused"}


@dataclass(frozen=True)
class TrainingArgs:
    max_steps: int = DEFAULT_ARGS["max_steps"]
    num_train_epochs: float | None = DEFAULT_ARGS["num_train_epochs"]
    learning_rate: float = DEFAULT_ARGS["learning_rate"]
    save_steps: int = DEFAULT_ARGS["save_steps"]
    batch_size: int = DEFAULT_ARGS["batch_size"]
    gradient_accumulation_steps: int = DEFAULT_ARGS["gradient_accumulation_steps"]
    max_length: int = DEFAULT_ARGS["max_length"]
    optim: str = DEFAULT_ARGS["optim"]
    warmup_steps: int = DEFAULT_ARGS["warmup_steps"]
    lr_scheduler_type: str = DEFAULT_ARGS["lr_scheduler_type"]
    weight_decay: float = DEFAULT_ARGS["weight_decay"]
    max_grad_norm: float = DEFAULT_ARGS["max_grad_norm"]
    seed: int = DEFAULT_ARGS["seed"]
    r_value: int = DEFAULT_ARGS["r_value"]
    lora_alpha: float = DEFAULT_ARGS["lora_alpha"]
    lora_dropout: float = DEFAULT_ARGS["lora_dropout"]
    # Read by the service's retention only.
    keep_checkpoints: int = DEFAULT_ARGS["keep_checkpoints"]
    target_modules: str | list[str] = DEFAULT_ARGS["target_modules"]
    eval_steps: int | None = DEFAULT_ARGS["eval_steps"]
    keep: str = DEFAULT_ARGS["keep"]
    # Whether they act in the inputs of pairs.
    special_tokens: bool = DEFAULT_ARGS["special_tokens"]
    early_stopping: dict[str, Any] | None = DEFAULT_ARGS["early_stopping"]

    @classmethod
    def from_json(cls, raw: dict[str, Any], note: Note) -> TrainingArgs:
        """Null means the default. An argument that this trainer does not know is noted, never silently dropped."""
        given = {key: value for key, value in raw.items() if value is not None}
        for key in sorted(given.keys() - cls.__dataclass_fields__.keys()):
            note("argument_ignored", f"{key} is not known to this trainer and was ignored.")
        return cls(**{key: value for key, value in given.items() if key in cls.__dataclass_fields__})

    @property
    def rows_per_step(self) -> int:
        return self.batch_size * self.gradient_accumulation_steps

    def total_steps(self, steps_per_epoch: int) -> int:
        if self.num_train_epochs is not None:
            return max(math.ceil(self.num_train_epochs * steps_per_epoch), 1)
        return self.max_steps

    def steps_between_looks(self, total_steps: int) -> int:
        # In full tens: the history that users read has every tenth step.
        return self.eval_steps or math.ceil(total_steps / 100) * 10

    @property
    def decides_by_validation(self) -> bool:
        return self.keep == "best" or self.early_stopping is not None

    @property
    def patience(self) -> int | None:
        """Validations in a row without a gain that end the run; None for a run that does all its steps."""
        return None if self.early_stopping is None else int(self.early_stopping["patience"])

    @property
    def min_delta(self) -> float:
        return float((self.early_stopping or {}).get("min_delta", 0.0))


def make_optimizer(args: TrainingArgs, parameters: list[torch.nn.Parameter], note: Note) -> torch.optim.Optimizer:
    from transformers.optimization import Adafactor

    fused = parameters[0].is_cuda
    settings: dict[str, Any] = {"lr": args.learning_rate, "weight_decay": args.weight_decay}
    if args.optim in ADAMW_NAMES:
        return torch.optim.AdamW(parameters, **settings, fused=fused or None, foreach=not fused)
    if args.optim == "sgd":
        return torch.optim.SGD(parameters, **settings)
    if args.optim != "adafactor":
        if "adam" in args.optim:
            note("optim_replaced", f"optim {args.optim} is not available here, so adamw_torch was used.")
            return torch.optim.AdamW(parameters, **settings, fused=fused or None, foreach=not fused)
        note("optim_replaced", f"optim {args.optim} is not available here, so adafactor was used.")
    adafactor: torch.optim.Optimizer = Adafactor(parameters, **settings, scale_parameter=False, relative_step=False)
    return adafactor


def learning_rate_schedule(
    args: TrainingArgs, optimizer: torch.optim.Optimizer, total_steps: int
) -> Callable[[int], float]:
    """Learning rate by step, counted from 0: a pure function, so a resume needs no schedule state."""
    from transformers.optimization import get_scheduler

    scheduler = get_scheduler(args.lr_scheduler_type, optimizer, min(args.warmup_steps, total_steps), total_steps)
    factor = scheduler.lr_lambdas[0]
    return lambda step: args.learning_rate * float(factor(step))
