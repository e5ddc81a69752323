"""The LoRA adapter: made from the arguments, saved and loaded as an ordinary PEFT adapter in safetensors."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from anneal_runtime.trainer.training_args import Note, TrainingArgs

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

WEIGHTS_FILE = "adapter_model.safetensors"
CONFIG_FILE = "adapter_config.json"
ORIGIN_FILE = "anneal.json"
# Errors that saving raises on a full disk.
CANNOT_WRITE = (OSError, SafetensorError)


@dataclass(frozen=True)
class Origin:
    """Where an adapter comes from; stored beside it."""

    base_model: str
    base_sha256: str
    spec_hash: str
    # The number format of the base while the adapter was trained, where it is not the base's own.
    trained_on: str | None = None


def add_adapter(base: PreTrainedModel, args: TrainingArgs, note: Note) -> PeftModel:
    torch.manual_seed(args.seed)
    targets = _target_modules(args.target_modules)
    try:
        return _wrap(base, args, targets)
    except ValueError as error:
        if targets == "all-linear":
            raise
        note(
            "target_modules_replaced", f"target_modules {args.target_modules} matches no layer, so all-linear was used."
        )
        del error
        return _wrap(base, args, "all-linear")


def continue_adapter(base: PreTrainedModel, folder: Path, args: TrainingArgs) -> PeftModel:
    """A saved adapter over its base, to be trained on."""
    torch.manual_seed(args.seed)
    return _load(base, folder, inference_mode=False, lora_dropout=args.lora_dropout)


def load_adapter(base: PreTrainedModel, folder: Path) -> PeftModel:
    """A saved adapter over its base, for evaluation."""
    return _load(base, folder, inference_mode=True)


def _load(base: PreTrainedModel, folder: Path, **changes: Any) -> PeftModel:
    config = LoraConfig.from_pretrained(str(folder))
    for name, value in changes.items():
        setattr(config, name, value)
    # PEFT warns where the name differs from the path that the base was loaded from, which it always does here.
    config.base_model_name_or_path = None
    model = get_peft_model(base, config)
    load_weights(model, folder)
    return model


def save_adapter(model: PeftModel, folder: Path, origin: Origin, step: int) -> None:
    """Weights in fp32, configuration and origin. The configuration names the base as the catalogue does, not a path."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights_of(model), folder / WEIGHTS_FILE, metadata={"format": "pt"})
    config = copy.deepcopy(model.peft_config["default"])
    config.base_model_name_or_path = origin.base_model
    config.inference_mode = True
    if isinstance(config.target_modules, set):
        # A set has another order in each process; the same training writes the same bytes.
        config.target_modules = sorted(config.target_modules)
    config.save_pretrained(str(folder))
    known = {key: value for key, value in origin.__dict__.items() if value is not None}
    (folder / ORIGIN_FILE).write_text(json.dumps({**known, "step": step}, indent=2) + "\n")


def weights_of(model: PeftModel) -> dict[str, torch.Tensor]:
    """In fp32 on the CPU. They may share their memory with the model."""
    weights = get_peft_model_state_dict(model, save_embedding_layers=False)
    return {name: tensor.detach().float().cpu().contiguous() for name, tensor in weights.items()}


def load_weights(model: PeftModel, folder: Path) -> None:
    weights = load_file(folder / WEIGHTS_FILE)
    expected = get_peft_model_state_dict(model, save_embedding_layers=False)
    if weights.keys() != expected.keys():
        raise ValueError("The saved adapter has other layers than this model.")
    set_peft_model_state_dict(model, weights)


def base_of(model: PeftModel) -> PreTrainedModel:
    """The model itself where all weights are trained: it has no adapter."""
    return cast("PreTrainedModel", getattr(model, "get_base_model", lambda: model)())


def trainable(model: PeftModel) -> dict[str, torch.nn.Parameter]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _wrap(base: PreTrainedModel, args: TrainingArgs, targets: str | list[str]) -> PeftModel:
    config = LoraConfig(
        r=args.r_value,
        lora_alpha=cast(int, args.lora_alpha),
        lora_dropout=args.lora_dropout,
        use_rslora=args.use_rslora,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(base, config)


def _target_modules(value: str | list[str]) -> str | list[str]:
    """PEFT reads a string as a pattern for whole paths; a plain name or list of names means those layers."""
    if isinstance(value, str) and value != "all-linear" and re.fullmatch(r"[\w, ]+", value):
        return [name.strip() for name in value.split(",") if name.strip()]
    return value
