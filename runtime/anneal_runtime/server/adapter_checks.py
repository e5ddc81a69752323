"""Checks of adapter files that need neither a model nor torch. The files are untrusted input."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
ORIGIN_FILE = "anneal.json"
MAX_JSON_BYTES = 1 << 20
MAX_RANK = 1024
PREFIX = "base_model.model."
FLOATS = ("F16", "BF16", "F32", "F64")
# Settings that go beyond plain LoRA, with the values that switch them off.
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


def read_config(path: Path) -> tuple[float, int]:
    config = _read_json(path)
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise AdapterRefused(f"{CONFIG_FILE} does not describe a LoRA adapter (peft_type LORA).")
    for key, plain in PLAIN_ONLY.items():
        if key in config and config[key] not in plain:
            raise AdapterRefused(f"{CONFIG_FILE} sets {key}, which this server does not support.")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= MAX_RANK:
        raise AdapterRefused(f"{CONFIG_FILE}: r must be a whole number from 1 to {MAX_RANK}.")
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise AdapterRefused(f"{CONFIG_FILE}: lora_alpha must be a number.")
    if not isinstance(config.get("target_modules"), str | list):
        raise AdapterRefused(f"{CONFIG_FILE}: target_modules is missing.")
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank), rank


def factors_by_layer(keys: Iterable[str]) -> dict[str, dict[str, str]]:
    """The names of the tensors, by layer and factor. Raises AdapterRefused for anything that is not plain LoRA."""
    factors: dict[str, dict[str, str]] = {}
    for key in keys:
        layer, _, factor = key.removesuffix(".weight").rpartition(".")
        if not key.startswith(PREFIX) or factor not in ("lora_A", "lora_B"):
            raise AdapterRefused(f"{WEIGHTS_FILE} holds {key[:200]}, which is not a LoRA factor.")
        factors.setdefault(layer.removeprefix(PREFIX), {})[factor] = key
    if not factors:
        raise AdapterRefused(f"{WEIGHTS_FILE} holds no tensors.")
    for layer, found in factors.items():
        if len(found) != 2:
            raise AdapterRefused(f"{layer[:200]} has only one of its two factors.")
    return factors
