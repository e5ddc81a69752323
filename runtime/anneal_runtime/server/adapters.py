"""The adapters of this server: fetched, checked, verified by a generation, held in memory up to a budget.

The same for every engine: `AdapterLoader` is what differs. Lives on the event loop; only reading files and generating
leave it. There are as many places as the budget says, first come, first served. When none is free the least recently
used adapter goes, an idle one if there is any; one in use goes when its last request is done, and takes no new ones.
An adapter that went is forgotten, files too: whoever needs it puts it again.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from anneal_runtime.log import log
from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.server.adapter_checks import AdapterRefused
from anneal_runtime.server.errors import ApiError, unknown_model
from anneal_runtime.transfer import CorruptFile, RemoteFile, UrlRefused, download, verify

if TYPE_CHECKING:
    from anneal_runtime.server.metrics import EngineMetrics

MAX_LOADED = 32
MAX_FILE_BYTES = 4 << 30
FETCH_RETRY = RetryPolicy(give_up_after_s=20.0)
# Seconds that a load waits for a place.
ROOM_WAIT_S = 60.0
# Seconds during which a new adapter is not evicted: the request that loaded it must find it.
STAY_S = 0.5
LOOK_EVERY_S = 0.02
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NEEDED = ("adapter_config.json", "adapter_model.safetensors")
# Holds the sha256 of the base weights that the adapter was trained on.
OPTIONAL = ("anneal.json",)


class AdapterLoader(Protocol):
    """Brings adapters into an engine."""

    @property
    def base(self) -> str:
        """The name that no adapter may have."""

    async def load(self, name: str, folder: Path) -> Any:
        """Returns the handle that requests use, after one generation with it. Raises AdapterRefused."""

    async def unload(self, name: str) -> None:
        """Removes the adapter from the engine; running requests finish with it."""


@dataclass
class Held:
    adapter: Any
    # The sha256 of each file; None for an adapter loaded by its folder, without hashes.
    fingerprint: tuple[str, ...] | None
    users: int = 0
    loaded_at: float = field(default_factory=monotonic)


@dataclass(frozen=True)
class Leaving:
    held: Held
    task: asyncio.Task[None]


class AdapterStore:
    def __init__(
        self,
        loader: AdapterLoader,
        folder: Path,
        metrics: EngineMetrics,
        max_loaded: int = MAX_LOADED,
        room_wait_s: float = ROOM_WAIT_S,
    ) -> None:
        self._loader, self._folder, self._metrics, self._room_wait_s = loader, folder, metrics, room_wait_s
        # Counts neither the loaded adapters nor those that are loading or leaving.
        self._free_places = self._max_loaded = max_loaded
        self._turn = asyncio.Lock()
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._leaving: dict[str, Leaving] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        shutil.rmtree(folder / ".incoming", ignore_errors=True)
        (folder / ".incoming").mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        return list(self._held)

    @contextmanager
    def use(self, model: object) -> Iterator[Any]:
        """The adapter of that name, or None for the base. Raises ApiError 404."""
        if model == self._loader.base:
            yield None
            return
        held = self._held.get(model) if isinstance(model, str) else None
        if held is None:
            raise unknown_model(model)
        self._held.move_to_end(str(model))
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
            raise refused(f"files must include {missing[0]}.")
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
                raise refused(f"Other files are already loaded as {name}. Use a new name.")
            await self._gone(name)
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
            await self._gone(name)
            await self._load(name, folder, None)

    async def remove(self, name: str) -> bool:
        """True if it was loaded. Returns once its last request is done and the adapter is gone."""
        if not NAME.fullmatch(name):
            return False
        async with self._lock(name):
            was_loaded = name in self._held
            if was_loaded:
                self._let_go(name)
            await self._gone(name)
            await asyncio.to_thread(shutil.rmtree, self._folder / name, True)
        return was_loaded

    def _check_name(self, name: str) -> None:
        if not NAME.fullmatch(name) or name == self._loader.base:
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
            raise ApiError(
                502, f"The adapter files could not be downloaded: {error}", code="adapter_unreachable"
            ) from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)

    async def _load(self, name: str, folder: Path, fingerprint: tuple[str, ...] | None) -> None:
        await self._take_place()
        try:
            adapter = await self._loader.load(name, folder)
        except BaseException as error:
            self._free_places += 1
            if isinstance(error, AdapterRefused):
                raise refused(str(error)) from error
            raise
        self._held[name] = Held(adapter, fingerprint)
        self._metrics.adapters.set(len(self._held))
        log(f"Adapter {name[:16]} loaded")

    async def _take_place(self) -> None:
        """First come, first served. Raises ApiError 503."""
        try:
            async with asyncio.timeout(self._room_wait_s), self._turn:
                while self._free_places == 0:
                    self._make_room()
                    await asyncio.sleep(LOOK_EVERY_S)
                self._free_places -= 1
        except TimeoutError as error:
            raise ApiError(503, f"All {self._max_loaded} adapter places are in use.", code="adapters_busy") from error

    def _make_room(self) -> None:
        if any(leaving.held.users == 0 for leaving in self._leaving.values()):
            return
        idle = (name for name, held in self._held.items() if held.users == 0)
        # Evict one adapter in use at a time: the others may fall idle meanwhile.
        name = next(idle, None) or (None if self._leaving else next(iter(self._held), None))
        if name is not None and monotonic() - self._held[name].loaded_at >= STAY_S:
            self._metrics.adapters_evicted.inc()
            self._let_go(name)
            log(f"Adapter {name[:16]} was evicted to make room")

    def _let_go(self, name: str) -> None:
        """From now on it is unknown."""
        held = self._held.pop(name)
        self._metrics.adapters.set(len(self._held))
        self._leaving[name] = Leaving(held, asyncio.ensure_future(self._leave(name, held)))

    async def _leave(self, name: str, held: Held) -> None:
        try:
            while held.users > 0:
                await asyncio.sleep(LOOK_EVERY_S)
            await self._loader.unload(name)
            await asyncio.to_thread(shutil.rmtree, self._folder / name, True)
        finally:
            self._free_places += 1
            del self._leaving[name]

    async def _gone(self, name: str) -> None:
        if leaving := self._leaving.get(name):
            await asyncio.wait({leaving.task})


def refused(message: str) -> ApiError:
    return ApiError(422, message, code="adapter_refused")


def _holds(folder: Path, files: list[RemoteFile]) -> bool:
    try:
        for file in files:
            verify(folder / file.name, file.size, file.sha256, file.name)
    except (OSError, CorruptFile):
        return False
    return True
