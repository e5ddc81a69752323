"""Adapters of a vLLM: it reads them from the folder that both containers share, under the name that requests use."""

from __future__ import annotations

import asyncio
from pathlib import Path

from safetensors import SafetensorError, safe_open

from anneal_runtime.log import log
from anneal_runtime.server.adapter_checks import (
    CONFIG_FILE,
    FLOATS,
    WEIGHTS_FILE,
    AdapterRefused,
    base_of,
    factors_by_layer,
    read_config,
)
from anneal_runtime.server.errors import ApiError
from anneal_runtime.vllm_sidecar.engine import EngineAway, VllmClient
from anneal_runtime.vllm_sidecar.version_probe import UnknownEngine, try_generation

CANNOT_USE = "add_lora method failed"


class VllmAdapters:
    def __init__(self, engine: VllmClient, base: str, base_sha256: str | None) -> None:
        self._engine, self._base, self._base_sha256 = engine, base, base_sha256

    @property
    def base(self) -> str:
        return self._base

    async def load(self, name: str, folder: Path, _account: str) -> str:
        await asyncio.to_thread(check_files, folder, self._base_sha256)
        try:
            asked = {"lora_name": name, "lora_path": str(folder)}
            answer = await self._engine.post("/v1/load_lora_adapter", asked)
            # vLLM answers 500, as to an outage, also when it has read the adapter and cannot use it.
            if CANNOT_USE not in answer.message():
                answer.settled()
            if answer.status != 200 and "already" not in answer.message():
                raise AdapterRefused(f"vLLM refused the adapter: {answer.message()}")
            await try_generation(self._engine, name)
        except UnknownEngine as error:
            await self.unload(name)
            raise AdapterRefused(str(error)) from error
        except EngineAway as error:
            # It may be there all the same, and have loaded it.
            await self.unload(name)
            raise ApiError(503, str(error)) from error
        return name

    async def unload(self, name: str) -> None:
        try:
            answer = await self._engine.post("/v1/unload_lora_adapter", {"lora_name": name})
        except EngineAway as error:
            log(f"Adapter {name[:16]} could not be unloaded: {error}")
            return
        if answer.status not in (200, 404):
            log(f"Adapter {name[:16]} could not be unloaded: {answer.message()}")


def check_files(folder: Path, base_sha256: str | None) -> None:
    """Everything that can be known before vLLM maps them: headers only. Raises AdapterRefused."""
    _, rank = read_config(folder / CONFIG_FILE)
    trained_on = base_of(folder)
    if trained_on is not None and base_sha256 is not None and trained_on != base_sha256:
        raise AdapterRefused("The adapter was trained on other weights than those of this server's base model.")
    try:
        with safe_open(folder / WEIGHTS_FILE, framework="numpy") as weights:
            for layer, keys in factors_by_layer(weights.keys()).items():
                down, up = weights.get_slice(keys["lora_A"]), weights.get_slice(keys["lora_B"])
                shapes = [down.get_shape(), up.get_shape()]
                if any(len(shape) != 2 for shape in shapes) or shapes[0][0] != rank or shapes[1][1] != rank:
                    raise AdapterRefused(f"{layer[:200]} has the shapes {shapes}, which do not fit rank {rank}.")
                if down.get_dtype() not in FLOATS or up.get_dtype() not in FLOATS:
                    raise AdapterRefused(f"{layer[:200]} holds no floating-point numbers.")
    except (SafetensorError, OSError) as error:
        raise AdapterRefused(f"{WEIGHTS_FILE} cannot be read: {error}") from error
