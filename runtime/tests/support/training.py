"""A training in this process, without the API: what it would report, save and note."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import torch

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import LoadedModel, load_causal_lm
from anneal_runtime.trainer.adapter import Origin, trainable
from anneal_runtime.trainer.artifacts import CheckpointUploader
from anneal_runtime.trainer.four_bit import load_in_4bit
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.mixed_order import Sources
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.reporter import Reporter
from anneal_runtime.trainer.rollouts.prepare import RolloutPlan
from anneal_runtime.trainer.termination import Termination
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan, TrainingRun
from support.assignments import json_lines
from support.trainer_process import TINY

Rows = Sequence[Mapping[str, Any]]
SUPERVISED = Method.from_json(None)
USUAL_ARGS = TrainingArgs(**DEFAULT_ARGS)


@dataclass
class Training:
    """Stands for reporter and uploader of a run; `checkpoints` are the folders by step."""

    folder: Path
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    checkpoints: dict[int, Path] = field(default_factory=dict)
    model_step: int | None = None
    weights: dict[str, torch.Tensor] = field(default_factory=dict)

    def step(self, row: dict[str, Any]) -> None:
        self.rows[row["step"]] = row

    def note(self, code: str, message: str) -> None:
        self.notes[code] = message

    def submit(self, step: int, folder: Path) -> None:
        self.checkpoints[step] = Path(shutil.move(folder, self.folder / f"saved-{step}"))

    def finish(self, _timeout_s: float) -> bool:
        return True

    def raise_failure(self) -> None:
        pass

    def series(self, *names: str) -> dict[int, list[Any]]:
        return {step: [row.get(name) for name in names] for step, row in sorted(self.rows.items())}


def train(
    folder: Path,
    rows: Rows,
    held_out: Rows | None,
    *,
    checkpoint: Path | None = None,
    start: Path | None = None,
    base: LoadedModel | None = None,
    method: Method = SUPERVISED,
    sources: Sources | None = None,
    rollouts: RolloutPlan | None = None,
    training: Training | None = None,
    prepare: Callable[[TrainingRun, Termination], None] = lambda _run, _termination: None,
    **args: Any,
) -> Training:
    """`prepare` may change the run before it begins. `training` is that of an attempt before."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train").write_bytes(json_lines(rows))
    (folder / "held_out").write_bytes(json_lines(held_out or []))
    defaults = {"batch_size": 4, "gradient_accumulation_steps": 1, "r_value": 8, "lora_alpha": 8, "optim": "adamw"}
    settings = replace(USUAL_ARGS, **{"learning_rate": 2e-3, "save_steps": 1000, **defaults, **args})
    training = training or Training(folder)
    where = folder / "held_out" if held_out else None
    plan = Plan(
        settings,
        method,
        Origin("anneal-tiny", "00", "spec"),
        folder / "train",
        where,
        folder,
        checkpoint,
        # As a job does: a checkpoint holds the whole adapter.
        checkpoint if start and checkpoint else start,
        sources,
        rollouts,
    )
    load = load_in_4bit if settings.load_in_4bit else load_causal_lm
    run = prepare_run(plan, base or load(TINY, torch.device("cpu")), training.note)
    termination = Termination()
    prepare(run, termination)
    if run.train(cast(Reporter, training), cast(CheckpointUploader, training), termination):
        training.model_step = run.validation.settle()
        training.weights = {name: value.detach().clone() for name, value in trainable(run.model).items()}
    return training
