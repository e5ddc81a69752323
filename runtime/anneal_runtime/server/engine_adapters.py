"""Adapters of our own engine: read into memory, beside the base."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anneal_runtime.model_source import weights_sha256
from anneal_runtime.server.adapter_checks import AdapterRefused, base_of
from anneal_runtime.server.decoding.rows import GenerationFailed, SamplingParams
from anneal_runtime.server.engine_requests import generate

if TYPE_CHECKING:
    from anneal_runtime.server.engine import Engine

# One token takes no place in the batch.
PROBE = SamplingParams(max_tokens=1, temperature=0.0, top_p=1.0, seed=None, stop=())


class EngineAdapters:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._base_sha256: str | None = None

    @property
    def base(self) -> str:
        return self._engine.name

    async def load(self, name: str, folder: Path, account: str) -> Any:
        generator = self._engine.generator
        if generator is None:
            raise AdapterRefused("This server's model does not support adapters.")
        await self._check_base(folder)
        adapter = await asyncio.to_thread(generator.read_adapter, name, folder)
        try:
            await generate(self._engine, [self._engine.probe], PROBE, account=account, adapter=adapter)
        except GenerationFailed as error:
            raise AdapterRefused(str(error)) from error
        return adapter

    async def unload(self, name: str) -> None:
        """The last request that uses the adapter frees its memory."""

    async def _check_base(self, folder: Path) -> None:
        trained_on = base_of(folder)
        if trained_on is None:
            return
        if self._base_sha256 is None:
            self._base_sha256 = await asyncio.to_thread(weights_sha256, self._engine.folder)
        if trained_on != self._base_sha256:
            raise AdapterRefused("The adapter was trained on other weights than those of this server's base model.")
