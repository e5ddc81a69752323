"""The adapters of this server: fetched, checked, verified by a generation, held in memory up to a budget.

The same for every engine: `AdapterLoader` is what differs. Lives on the event loop; only reading files and generating
leave it. The budget has places and bytes, and accounts take turns for them. When there is no room, the account that
holds most gives up its least recently used adapter, an idle one if there is any; one in use goes when its last request
is done, and takes no new ones. An adapter that went is forgotten, files too: whoever needs it puts it again.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from anneal_runtime.log import log
from anneal_runtime.server.account_turns import AccountThreads, AccountTurns, Sharing
from anneal_runtime.server.adapter_checks import WEIGHTS_FILE, AdapterRefused
from anneal_runtime.server.adapter_download import fetch, prepare_folder, refused, wanted_files
from anneal_runtime.server.errors import ApiError, unknown_model
from anneal_runtime.transfer import RemoteFile

if TYPE_CHECKING:
    from anneal_runtime.server.metrics import EngineMetrics

MAX_LOADED = 32
MAX_BYTES = 4 << 30
# Downloads at once, on threads of their own: a slow store must not hold up other work.
DOWNLOADS = 4
# Seconds that a load waits for a place.
ROOM_WAIT_S = 60.0
# Seconds during which a new adapter is not evicted: the request that loaded it must find it.
STAY_S = 0.5
LOOK_EVERY_S = 0.02
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class AdapterLoader(Protocol):
    """Brings adapters into an engine."""

    @property
    def base(self) -> str:
        """The name that no adapter may have."""

    async def load(self, name: str, folder: Path, account: str) -> Any:
        """Returns the handle that requests use, after one generation with it, which is the account's work.

        Raises AdapterRefused.
        """

    async def unload(self, name: str) -> None:
        """Removes the adapter from the engine; running requests finish with it."""


@dataclass(frozen=True, eq=False)
class Place:
    """Room that an adapter takes while it is loading, loaded or leaving."""

    account: str
    size: int


@dataclass
class Held:
    adapter: Any
    place: Place
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
        max_bytes: int = MAX_BYTES,
        room_wait_s: float = ROOM_WAIT_S,
        sharing: Sharing | None = None,
    ) -> None:
        self._loader, self._folder, self._metrics, self._room_wait_s = loader, folder, metrics, room_wait_s
        self._max_loaded, self._max_bytes = max_loaded, max_bytes
        self._places: set[Place] = set()
        self._downloads = AccountThreads("adapter", DOWNLOADS)
        self._room_turns = AccountTurns()
        # One load at a time: each takes time from the answers of everybody.
        self._load_turns = AccountTurns(sharing=sharing)
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._leaving: dict[str, Leaving] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        prepare_folder(folder)

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

    async def install(self, name: str, files: list[RemoteFile], account: str = "") -> None:
        """Fetches, checks and loads; nothing if it is loaded already. Raises ApiError."""
        self._check_name(name)
        wanted = wanted_files(files)
        fingerprint = tuple(file.sha256 for file in wanted)
        async with self._lock(name):
            held = self._held.get(name)
            if held is not None and held.fingerprint == fingerprint:
                self._held.move_to_end(name)
                return
            if held is not None:
                raise refused(f"Other files are already loaded as {name}. Use a new name.")
            await self._gone(name)
            await self._downloads.run(account, fetch, self._folder, name, wanted)
            try:
                place = Place(account, next(file.size for file in wanted if file.name == WEIGHTS_FILE))
                await self._load(name, self._folder / name, fingerprint, place)
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
            await self._load(name, folder, None, Place("", _size(folder / WEIGHTS_FILE)))

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

    async def _load(self, name: str, folder: Path, fingerprint: tuple[str, ...] | None, place: Place) -> None:
        await self._take_place(place)
        try:
            async with self._load_turns.turn(place.account):
                adapter = await self._loader.load(name, folder, place.account)
        except BaseException as error:
            self._places.remove(place)
            if isinstance(error, AdapterRefused):
                raise refused(str(error)) from error
            raise
        self._held[name] = Held(adapter, place, fingerprint)
        self._metrics.adapters.set(len(self._held))
        log(f"Adapter {name[:16]} loaded")

    async def _take_place(self, place: Place) -> None:
        """Accounts take turns. Raises ApiError 503."""
        try:
            async with asyncio.timeout(self._room_wait_s), self._room_turns.turn(place.account):
                while not self._has_room(place):
                    self._make_room(place)
                    await asyncio.sleep(LOOK_EVERY_S)
                self._places.add(place)
        except TimeoutError as error:
            message = f"All room for adapters is in use: {self._max_loaded} places, {self._max_bytes} bytes."
            raise ApiError(503, message, code="adapters_busy") from error

    def _has_room(self, place: Place) -> bool:
        """An adapter that is larger than the budget has room alone."""
        size = sum(each.size for each in self._places) + place.size
        return not self._places or (len(self._places) < self._max_loaded and size <= self._max_bytes)

    def _make_room(self, wanted: Place) -> None:
        if any(leaving.held.users == 0 for leaving in self._leaving.values()):
            return
        names = self._names_of_largest_account(wanted)
        idle = (name for name in names if self._held[name].users == 0)
        # Evict one adapter in use at a time: the others may fall idle meanwhile.
        name = next(idle, None) or (None if self._leaving else next(iter(names), None))
        if name is not None and monotonic() - self._held[name].loaded_at >= STAY_S:
            self._metrics.adapters_evicted.inc()
            self._let_go(name)
            log(f"Adapter {name[:16]} was evicted to make room")

    def _names_of_largest_account(self, wanted: Place) -> list[str]:
        """The least recently used one first. An account with less than its equal share is never the largest."""
        sizes: Counter[str] = Counter()
        for place in [*(held.place for held in self._held.values()), wanted]:
            # An equal part of each budget, so that many small adapters count as well as a few large ones.
            sizes[place.account] += max(place.size * self._max_loaded, self._max_bytes)
        accounts = dict.fromkeys(held.place.account for held in self._held.values())
        largest = max(accounts, key=lambda account: sizes[account], default=None)
        return [name for name, held in self._held.items() if held.place.account == largest]

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
            self._places.remove(held.place)
            del self._leaving[name]

    async def _gone(self, name: str) -> None:
        if leaving := self._leaving.get(name):
            await asyncio.wait({leaving.task})


def _size(path: Path) -> int:
    """0 for a missing file, which the loader refuses."""
    return path.stat().st_size if path.is_file() else 0
