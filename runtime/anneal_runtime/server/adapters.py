"""The adapters of this server: fetched, checked, verified by a generation, held in memory up to a budget.

Lives on the event loop; only reading files and generating leave it. The least recently used adapter goes first, never
one that a request uses. An adapter that went is forgotten, files too: whoever needs it puts it again.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from anneal_runtime.log import log
from anneal_runtime.model_source import weights_sha256
from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.server.decoding.rows import GenerationFailed, SamplingParams
from anneal_runtime.server.errors import ApiError, unknown_model
from anneal_runtime.server.work import generate
from anneal_runtime.transfer import CorruptFile, RemoteFile, UrlRefused, download, verify

if TYPE_CHECKING:
    from anneal_runtime.server.decoding.lora import Adapter
    from anneal_runtime.server.engine import Engine
    from anneal_runtime.server.metrics import EngineMetrics

MAX_LOADED = 32
MAX_FILE_BYTES = 4 << 30
FETCH_RETRY = RetryPolicy(give_up_after_s=20.0)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
PROBE = SamplingParams(max_tokens=4, temperature=0.0, top_p=1.0, seed=None, stop=())
NEEDED = ("adapter_config.json", "adapter_model.safetensors")
# Says on which base's weights the adapter was trained.
OPTIONAL = ("anneal.json",)


@dataclass
class Held:
    adapter: Adapter
    # The sha256 of each file; None for one that was loaded from the folder without promises.
    fingerprint: tuple[str, ...] | None
    users: int = 0


class AdapterStore:
    def __init__(self, engine: Engine, folder: Path, metrics: EngineMetrics, max_loaded: int = MAX_LOADED) -> None:
        self._engine, self._folder, self._metrics, self._max_loaded = engine, folder, metrics, max_loaded
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._base_sha256: str | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        shutil.rmtree(folder / ".incoming", ignore_errors=True)
        (folder / ".incoming").mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        return list(self._held)

    @contextmanager
    def use(self, model: object) -> Iterator[Adapter | None]:
        """The adapter of that name, or None for the base. Raises ApiError 404."""
        if model == self._engine.name:
            yield None
            return
        held = self._held.get(model) if isinstance(model, str) else None
        if held is None:
            raise unknown_model(model)
        self._held.move_to_end(held.adapter.name)
        held.users += 1
        try:
            yield held.adapter
        finally:
            held.users -= 1

    async def install(self, name: str, files: list[RemoteFile]) -> None:
        """Fetches, checks and loads; nothing if it is loaded already. Raises ApiError."""
        self._check_name(name)
        promised = {file.name: file for file in files}
        if missing := [needed for needed in NEEDED if needed not in promised]:
            raise refused(f"The files lack {missing[0]}.")
        wanted = [promised[file] for file in (*NEEDED, *OPTIONAL) if file in promised]
        if too_large := [file.name for file in wanted if not 0 < file.size <= MAX_FILE_BYTES]:
            raise refused(f"{too_large[0]} must have between 1 and {MAX_FILE_BYTES} bytes.")
        fingerprint = tuple(file.sha256 for file in wanted)
        async with self._lock(name):
            held = self._held.get(name)
            if held is not None and held.fingerprint == fingerprint:
                self._held.move_to_end(name)
                return
            if held is not None:
                raise refused(f"Other files are loaded as {name}; names are never reused.")
            await asyncio.to_thread(self._fetch, name, wanted)
            try:
                await self._load(name, self._folder / name, fingerprint)
            except ApiError:
                await asyncio.to_thread(shutil.rmtree, self._folder / name, True)
                raise

    async def load_folder(self, name: str, path: str) -> None:
        """vLLM's way, for a folder that is already inside the adapter folder. Raises ApiError."""
        self._check_name(name)
        folder = (self._folder / path).resolve()
        if not folder.is_relative_to(self._folder.resolve()) or not folder.is_dir():
            raise ApiError(404, f"There is no adapter in {path[:200]}.", param="lora_path")
        async with self._lock(name):
            if name in self._held:
                raise ApiError(400, f"The lora adapter '{name}' has already been loaded.", param="lora_name")
            await self._load(name, folder, None)

    async def remove(self, name: str) -> bool:
        """Whether it was loaded. Requests that use it finish with it."""
        if not NAME.fullmatch(name):
            return False
        async with self._lock(name):
            was_loaded = self._held.pop(name, None) is not None
            await asyncio.to_thread(shutil.rmtree, self._folder / name, True)
        self._metrics.adapters.set(len(self._held))
        return was_loaded

    def _check_name(self, name: str) -> None:
        if not NAME.fullmatch(name) or name == self._engine.name:
            raise refused("The name must be 1 to 128 letters, digits, dots, dashes or underscores, and not the base's.")

    def _lock(self, name: str) -> asyncio.Lock:
        """Lives as long as somebody holds it or waits for it."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def _fetch(self, name: str, files: list[RemoteFile]) -> None:
        final = self._folder / name
        if _holds(final, files):
            return
        incoming = self._folder / ".incoming" / uuid.uuid4().hex
        try:
            for file in files:
                download(file, incoming / file.name, FETCH_RETRY)
            shutil.rmtree(final, ignore_errors=True)
            incoming.rename(final)
        except CorruptFile as error:
            raise refused(str(error)) from error
        except (UrlRefused, Unavailable, ValueError) as error:
            raise ApiError(502, f"The adapter could not be fetched: {error}", code="adapter_unreachable") from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)

    async def _load(self, name: str, folder: Path, fingerprint: tuple[str, ...] | None) -> None:
        from anneal_runtime.server.adapter_files import AdapterRefused, read_adapter

        generator = self._engine.generator
        if generator is None:
            raise refused("This server's model takes no adapters.")
        try:
            await self._check_base(folder)
            adapter = await asyncio.to_thread(read_adapter, name, folder, generator.router.linears)
            generator.router.prepare(adapter)
            await generate(self._engine, [self._engine.probe], PROBE, adapter=adapter)
        except (AdapterRefused, GenerationFailed) as error:
            raise refused(str(error)) from error
        self._make_room()
        self._held[name] = Held(adapter, fingerprint)
        self._metrics.adapters.set(len(self._held))
        log(f"Adapter {name[:16]} is loaded.")

    async def _check_base(self, folder: Path) -> None:
        from anneal_runtime.server.adapter_files import AdapterRefused, base_of

        trained_on = base_of(folder)
        if trained_on is None:
            return
        if self._base_sha256 is None:
            self._base_sha256 = await asyncio.to_thread(weights_sha256, self._engine.folder)
        if trained_on != self._base_sha256:
            raise AdapterRefused("The adapter was trained on other weights than this server's base has.")

    def _make_room(self) -> None:
        while len(self._held) >= self._max_loaded:
            idle = next((name for name, held in self._held.items() if held.users == 0), None)
            if idle is None:
                raise ApiError(503, "All loaded adapters are in use.", code="adapters_busy")
            del self._held[idle]
            self._metrics.adapters_evicted.add()
            shutil.rmtree(self._folder / idle, ignore_errors=True)
            log(f"Adapter {idle[:16]} was unloaded to make room.")


def refused(message: str) -> ApiError:
    return ApiError(422, message, code="adapter_refused")


def _holds(folder: Path, files: list[RemoteFile]) -> bool:
    try:
        for file in files:
            verify(folder / file.name, file.size, file.sha256, file.name)
    except (OSError, CorruptFile):
        return False
    return True
