"""Adapter files, checked against a loaded model before they reach it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from anneal_runtime.server.adapter_checks import (
    CONFIG_FILE,
    FLOATS,
    WEIGHTS_FILE,
    AdapterRefused,
    factors_by_layer,
    read_config,
)

# Two factors by layer, [in, r] and [r, out], the second already scaled.
Factors = dict[str, tuple[torch.Tensor, torch.Tensor]]
PlaceOf = Callable[[nn.Linear], dict[str, Any]]


def read_factors(folder: Path, linears: Mapping[str, nn.Linear], place_of: PlaceOf) -> Factors:
    """Raises AdapterRefused. `linears` are the base's own linear layers by name, `place_of` names device and dtype."""
    scale, rank = read_config(folder / CONFIG_FILE)
    try:
        with safe_open(folder / WEIGHTS_FILE, framework="pt") as weights:
            return _read_layers(weights, linears, scale, rank, place_of)
    except (SafetensorError, OSError) as error:
        raise AdapterRefused(f"{WEIGHTS_FILE} cannot be read: {error}") from error


def _read_layers(weights: Any, linears: Mapping[str, nn.Linear], scale: float, rank: int, place_of: PlaceOf) -> Factors:
    factors = factors_by_layer(weights.keys())
    # Check every shape before reading data: an adapter of another model costs only its header.
    for layer, keys in factors.items():
        _check_shapes(weights, layer, keys, linears.get(layer), rank)
    return {layer: _read_pair(weights, layer, keys, scale, place_of(linears[layer])) for layer, keys in factors.items()}


def _check_shapes(weights: Any, layer: str, keys: dict[str, str], linear: nn.Linear | None, rank: int) -> None:
    if linear is None:
        raise AdapterRefused(f"The base model has no linear layer {layer[:200]}: the adapter belongs to another model.")
    expected = {"lora_A": [rank, linear.in_features], "lora_B": [linear.out_features, rank]}
    for factor, key in keys.items():
        tensor = weights.get_slice(key)
        if tensor.get_shape() != expected[factor] or tensor.get_dtype() not in FLOATS:
            raise AdapterRefused(
                f"{key} is {tensor.get_dtype()} {tensor.get_shape()}, but the base model needs {expected[factor]}: "
                "the adapter belongs to another model."
            )


def _read_pair(
    weights: Any, layer: str, keys: dict[str, str], scale: float, place: dict[str, Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    down = weights.get_tensor(keys["lora_A"]).to(**place).t().contiguous()
    up = (weights.get_tensor(keys["lora_B"]).to(torch.float32) * scale).to(**place).t().contiguous()
    if not (torch.isfinite(down).all() and torch.isfinite(up).all()):
        raise AdapterRefused(f"{layer} holds numbers that are not finite.")
    return down, up
