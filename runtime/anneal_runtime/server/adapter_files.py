"""Adapter files, checked before they reach the model: made by strangers as far as this server knows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from anneal_runtime.server.decoding.lora import Adapter

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
ORIGIN_FILE = "anneal.json"
MAX_JSON_BYTES = 1 << 20
MAX_RANK = 1024
PREFIX = "base_model.model."
FLOATS = ("F16", "BF16", "F32", "F64")
# What changes the product beyond plain LoRA, and the only value under which it does not.
PLAIN_ONLY: dict[str, tuple[object, ...]] = {
    "bias": ("none",),
    "use_dora": (False,),
    "fan_in_fan_out": (False,),
    "modules_to_save": (None, []),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
    "layer_replication": (None, []),
    "trainable_token_indices": (None, [], {}),
    "target_parameters": (None, []),
    "alora_invocation_tokens": (None, []),
    "lora_bias": (False,),
}


class AdapterRefused(Exception):
    """The adapter cannot be served on this base; the message says why."""


def read_adapter(name: str, folder: Path, linears: Mapping[str, nn.Linear]) -> Adapter:
    """Raises AdapterRefused. `linears` are the base's own linear layers by name."""
    scale, rank = _read_config(folder / CONFIG_FILE)
    try:
        with safe_open(folder / WEIGHTS_FILE, framework="pt") as weights:
            return Adapter(name, _read_layers(weights, linears, scale, rank))
    except (SafetensorError, OSError) as error:
        raise AdapterRefused(f"{WEIGHTS_FILE} cannot be read: {error}") from error


def base_of(folder: Path) -> str | None:
    """The sha256 of the base that the adapter was trained on, where it says so. Raises AdapterRefused."""
    path = folder / ORIGIN_FILE
    if not path.is_file():
        return None
    origin = _read_json(path)
    return str(origin.get("base_sha256")) if isinstance(origin, dict) and origin.get("base_sha256") else None


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise AdapterRefused(f"{path.name} is larger than {MAX_JSON_BYTES} bytes.")
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AdapterRefused(f"{path.name} cannot be read: {error}") from error


def _read_config(path: Path) -> tuple[float, int]:
    config = _read_json(path)
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise AdapterRefused(f"{CONFIG_FILE} is not that of a LoRA adapter.")
    for key, plain in PLAIN_ONLY.items():
        if key in config and config[key] not in plain:
            raise AdapterRefused(f"{CONFIG_FILE} sets {key}, which this server does not serve.")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= MAX_RANK:
        raise AdapterRefused(f"{CONFIG_FILE}: r must be a whole number from 1 to {MAX_RANK}.")
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise AdapterRefused(f"{CONFIG_FILE}: lora_alpha must be a number.")
    if not isinstance(config.get("target_modules"), str | list):
        raise AdapterRefused(f"{CONFIG_FILE}: target_modules is missing.")
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank), rank


def _read_layers(
    weights: Any, linears: Mapping[str, nn.Linear], scale: float, rank: int
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    factors: dict[str, dict[str, str]] = {}
    for key in weights.keys():  # noqa: SIM118 (not a mapping)
        layer, _, factor = key.removesuffix(".weight").rpartition(".")
        if not key.startswith(PREFIX) or factor not in ("lora_A", "lora_B"):
            raise AdapterRefused(f"{WEIGHTS_FILE} holds {key[:200]}, which is not a LoRA factor.")
        factors.setdefault(layer.removeprefix(PREFIX), {})[factor] = key
    if not factors:
        raise AdapterRefused(f"{WEIGHTS_FILE} holds no tensors.")
    # Every shape before any data: a foreign adapter costs a header.
    for layer, keys in factors.items():
        _check_shapes(weights, layer, keys, linears.get(layer), rank)
    return {layer: _read_factors(weights, layer, keys, linears[layer], scale) for layer, keys in factors.items()}


def _check_shapes(weights: Any, layer: str, keys: dict[str, str], linear: nn.Linear | None, rank: int) -> None:
    if linear is None:
        raise AdapterRefused(f"The base has no linear layer {layer[:200]}: the adapter is of another model.")
    if len(keys) != 2:
        raise AdapterRefused(f"{layer} has only one of its two factors.")
    expected = {"lora_A": [rank, linear.in_features], "lora_B": [linear.out_features, rank]}
    for factor, key in keys.items():
        tensor = weights.get_slice(key)
        if tensor.get_shape() != expected[factor] or tensor.get_dtype() not in FLOATS:
            raise AdapterRefused(
                f"{key} is {tensor.get_dtype()} {tensor.get_shape()} where the base needs {expected[factor]}: "
                "the adapter is of another model."
            )


def _read_factors(
    weights: Any, layer: str, keys: dict[str, str], linear: nn.Linear, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    place = {"device": linear.weight.device, "dtype": linear.weight.dtype}
    down = weights.get_tensor(keys["lora_A"]).to(**place).t().contiguous()
    up = (weights.get_tensor(keys["lora_B"]).to(torch.float32) * scale).to(**place).t().contiguous()
    if not (torch.isfinite(down).all() and torch.isfinite(up).all()):
        raise AdapterRefused(f"{layer} holds numbers that are not finite.")
    return down, up
