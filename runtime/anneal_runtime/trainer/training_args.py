"""The arguments of a run, as the claim names them, and the optimizer and schedule that they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Note = Callable[[str, str], None]

ADAMW_NAMES = {"adamw", "adamw_hf", "adamw_torch", "adamw_torch_fused"}
# These need a metric to act on, or arguments that requests do not carry.
UNSUPPORTED_SCHEDULES = {"reduce_lr_on_plateau", "greedy", "cosine_with_min_lr", "cosine_warmup_with_min_lr"}


@dataclass(frozen=True)
class TrainingArgs:
    max_steps: int = 100
    num_train_epochs: float | None = None
    learning_rate: float = 9e-4
    save_steps: int = 60
    batch_size: int = 1
    gradient_accumulation_steps: int = 2
    max_length: int = 2048
    optim: str = "adafactor"
    warmup_steps: int = 0
    lr_scheduler_type: str = "linear"
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 42
    r_value: int = 64
    lora_alpha: float = 64
    lora_dropout: float = 0.0
    target_modules: str | list[str] = "all-linear"

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
            note("optim_replaced", f"optim {args.optim} is not available here; adamw_torch was used.")
            return torch.optim.AdamW(parameters, **settings, fused=fused or None, foreach=not fused)
        note("optim_replaced", f"optim {args.optim} is not available here; adafactor was used.")
    adafactor: torch.optim.Optimizer = Adafactor(parameters, **settings, scale_parameter=False, relative_step=False)
    return adafactor


def learning_rate_schedule(
    args: TrainingArgs, optimizer: torch.optim.Optimizer, total_steps: int, note: Note
) -> Callable[[int], float]:
    """Learning rate by step, counted from 0: a pure function, so a resume needs no schedule state."""
    from transformers.optimization import get_scheduler
    from transformers.trainer_utils import SchedulerType

    name = args.lr_scheduler_type
    if name in UNSUPPORTED_SCHEDULES or name not in {kind.value for kind in SchedulerType}:
        note("schedule_replaced", f"lr_scheduler_type {name} is not available here; linear was used.")
        name = "linear"
    scheduler = get_scheduler(name, optimizer, min(args.warmup_steps, total_steps), total_steps)
    factor = scheduler.lr_lambdas[0]
    return lambda step: args.learning_rate * float(factor(step))
