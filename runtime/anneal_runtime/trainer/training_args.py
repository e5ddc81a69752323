"""The arguments of a run, as the claim gives them, and the optimizer and schedule that they ask for."""

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
    max_steps: int
    num_train_epochs: float | None
    learning_rate: float
    save_steps: int
    batch_size: int
    gradient_accumulation_steps: int
    max_length: int
    optim: str
    warmup_steps: int
    lr_scheduler_type: str
    weight_decay: float
    max_grad_norm: float
    seed: int
    r_value: int
    lora_alpha: float
    lora_dropout: float
    # Read by the service's retention only.
    keep_checkpoints: int
    target_modules: str | list[str]
    eval_steps: int | None
    keep: str
    # Whether special tokens act in the inputs of pairs.
    special_tokens: bool
    early_stopping: dict[str, Any] | None
    warmup_ratio: float | None
    use_rslora: bool
    # "auto", or whether it is on.
    gradient_checkpointing: bool | str
    # None for what the method does.
    overlong: str | None
    # "lora", or "full", which jobs do not take yet.
    finetuning_type: str
    load_in_4bit: bool
    # None where the request names none; see packing.py.
    packing: str | None
    # "auto", or whether the processes of a run share the frozen base; see sharding.py.
    shard_base: bool | str

    @classmethod
    def from_json(cls, raw: dict[str, Any], note: Note) -> TrainingArgs:
        """Arguments that jobs of earlier releases lack have the defaults of the contract. An argument that this trainer
        does not know is noted.
        """
        known = {key: value for key, value in raw.items() if key in cls.__dataclass_fields__}
        for key in sorted(raw.keys() - known.keys()):
            if raw[key] is not None:
                note("argument_ignored", f"{key} is not known to this trainer and was ignored.")
        return cls(**{**DEFAULT_ARGS, **known})

    @property
    def rows_per_step(self) -> int:
        return self.batch_size * self.gradient_accumulation_steps

    def total_steps(self, steps_per_epoch: int) -> int:
        if self.num_train_epochs is not None:
            return max(math.ceil(self.num_train_epochs * steps_per_epoch), 1)
        return self.max_steps

    def steps_of_warmup(self, total_steps: int) -> int:
        """As in transformers, `warmup_steps` above 0 replace `warmup_ratio`."""
        if self.warmup_steps > 0 or self.warmup_ratio is None:
            return min(self.warmup_steps, total_steps)
        return math.ceil(total_steps * self.warmup_ratio)

    def steps_between_validations(self, total_steps: int) -> int:
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
        return 0.0 if self.early_stopping is None else float(self.early_stopping["min_delta"])


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

    scheduler = get_scheduler(args.lr_scheduler_type, optimizer, args.steps_of_warmup(total_steps), total_steps)
    factor = scheduler.lr_lambdas[0]
    return lambda step: args.learning_rate * float(factor(step))
