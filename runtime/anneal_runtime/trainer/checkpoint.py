"""All that a run needs to go on as if never stopped, in safetensors and JSON: nothing in it can carry code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from anneal_runtime.trainer.adapter import Origin, load_weights, save_adapter, trainable
from anneal_runtime.trainer.trend import Trend

if TYPE_CHECKING:
    from peft import PeftModel

OPTIMIZER_FILE = "optimizer.safetensors"
RANDOM_FILE = "random.safetensors"
STATE_FILE = "trainer_state.json"


class BadCheckpoint(Exception):
    """The checkpoint does not belong to this run."""


@dataclass
class RunState:
    """The run's counters. `token_budget` is part of it: another one would round differently. `recomputes` is, too: a
    second pass that does not fit would draw other dropout.
    """

    step: int = 0
    tokens_seen: int = 0
    flops: float = 0.0
    seconds_per_step: float | None = None
    token_budget: int = 0
    recomputes: bool = False
    # Sum of the losses of the steps since the newest validation, and their number.
    window_loss: float = 0.0
    window_steps: int = 0
    # Loss, gradient norm and series of the newest step, if its validation is still due.
    unreported: tuple[float, ...] | None = None
    trend: Trend = field(default_factory=Trend)
    # The objective's.
    memory: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(
    folder: Path, model: PeftModel, optimizer: torch.optim.Optimizer, state: RunState, origin: Origin
) -> None:
    save_adapter(model, folder, origin, state.step)
    tensors, scalars = _flatten(optimizer, list(trainable(model)))
    save_file(tensors, folder / OPTIMIZER_FILE)
    save_file(_random_states(), folder / RANDOM_FILE)
    counters = {**asdict(state), "trend": state.trend.to_json()}
    if not state.recomputes:
        del counters["recomputes"]  # Older trainers do not know the name.
    if not state.memory:
        del counters["memory"]
    document = {"spec_hash": origin.spec_hash, **counters, "optimizer_scalars": scalars}
    (folder / STATE_FILE).write_text(json.dumps(document))


def load_checkpoint(folder: Path, model: PeftModel, optimizer: torch.optim.Optimizer, spec_hash: str) -> RunState:
    document = json.loads((folder / STATE_FILE).read_text())
    if document.pop("spec_hash") != spec_hash:
        raise BadCheckpoint("The checkpoint belongs to another specification of this job.")
    scalars = document.pop("optimizer_scalars")
    load_weights(model, folder)
    _unflatten(optimizer, trainable(model), load_file(folder / OPTIMIZER_FILE), scalars)
    _restore_random_states(load_file(folder / RANDOM_FILE))
    return RunState(**{**document, "trend": Trend.from_json(document["trend"])})


def _flatten(optimizer: torch.optim.Optimizer, names: list[str]) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors as `<state>/<parameter>`; plain numbers, which some optimizers keep, apart: JSON holds them exactly."""
    tensors: dict[str, torch.Tensor] = {}
    scalars: dict[str, Any] = {}
    for number, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{key}/{names[number]}"] = value.detach().cpu().contiguous()
            else:
                scalars[f"{key}/{names[number]}"] = value
    return tensors, scalars


def _unflatten(
    optimizer: torch.optim.Optimizer,
    parameters: dict[str, torch.nn.Parameter],
    tensors: dict[str, torch.Tensor],
    scalars: dict[str, Any],
) -> None:
    numbers = {name: number for number, name in enumerate(parameters)}
    state: dict[int, dict[str, Any]] = {}
    for path, value in {**tensors, **scalars}.items():
        key, name = path.split("/", 1)
        state.setdefault(numbers[name], {})[key] = value
    # load_state_dict moves tensors to their parameter's device and step counters to where the optimizer wants them.
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _random_states() -> dict[str, torch.Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _restore_random_states(states: dict[str, torch.Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
