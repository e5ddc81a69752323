import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from anneal_runtime.server import adapters
from anneal_runtime.server.adapter_checks import AdapterRefused
from anneal_runtime.server.adapters import AdapterStore, Place
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.metrics import EngineMetrics


class Engine:
    base = "base"

    def __init__(self) -> None:
        self.holds: list[str] = []
        self.most = 0

    async def load(self, name: str, _folder: Path, _account: str) -> str:
        self.holds.append(name)
        self.most = max(self.most, len(self.holds))
        await asyncio.sleep(0)
        if name.startswith("bad"):
            self.holds.remove(name)
            raise AdapterRefused("It is bad.")
        return name

    async def unload(self, name: str) -> None:
        self.holds.remove(name)


Story = Callable[[AdapterStore, Engine], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs a story on a store with one place."""

    def run(story: Story, *, stay_s: float = 0.0, **store_options: float) -> None:
        monkeypatch.setattr(adapters, "STAY_S", stay_s)

        async def tell() -> None:
            engine = Engine()
            await story(AdapterStore(engine, tmp_path, EngineMetrics(), max_loaded=1, **store_options), engine)

        asyncio.run(tell())

    return run


async def load(store: AdapterStore, folder: Path, name: str) -> None:
    (folder / name).mkdir(exist_ok=True)
    await store.load_folder(name, name)


def test_an_adapter_in_use_takes_no_new_requests_once_its_place_is_wanted_and_goes_with_its_last(
    run: Callable[..., None], tmp_path: Path
) -> None:
    async def story(store: AdapterStore, engine: Engine) -> None:
        await load(store, tmp_path, "a")
        with store.use("a"):
            waiting = asyncio.ensure_future(load(store, tmp_path, "b"))
            while store.names():
                await asyncio.sleep(0.001)
            with pytest.raises(ApiError) as refusal, store.use("a"):
                pass
            assert refusal.value.status == 404
            assert engine.holds == ["a"]
        await waiting
        assert engine.holds == store.names() == ["b"]
        assert engine.most == 1

    run(story)


def test_the_longest_waiter_is_next(run: Callable[..., None], tmp_path: Path) -> None:
    async def story(store: AdapterStore, engine: Engine) -> None:
        loaded: list[str] = []

        async def load_in_turn(name: str) -> None:
            await load(store, tmp_path, name)
            loaded.append(name)

        await load_in_turn("a")
        with store.use("a"):
            waiting = [asyncio.ensure_future(load_in_turn(name)) for name in ("b", "c", "a", "d")]
            while store.names():
                await asyncio.sleep(0.001)
        await asyncio.gather(*waiting)
        assert sorted(loaded) == ["a", "a", "b", "c", "d"]
        assert loaded.index("b") < loaded.index("c") < loaded.index("d")
        assert engine.most == 1

    run(story)


def test_a_fresh_one_stays_until_those_who_had_it_loaded_can_use_it(run: Callable[..., None], tmp_path: Path) -> None:
    async def story(store: AdapterStore, _engine: Engine) -> None:
        waiting = [asyncio.ensure_future(load(store, tmp_path, name)) for name in ("a", "b")]
        await waiting[0]
        await asyncio.sleep(0.1)
        with store.use("a"):
            pass
        await waiting[1]
        assert store.names() == ["b"]

    run(story, stay_s=0.3)


def test_a_load_that_finds_no_place_in_time_is_refused_and_takes_none(run: Callable[..., None], tmp_path: Path) -> None:
    async def story(store: AdapterStore, engine: Engine) -> None:
        await load(store, tmp_path, "a")
        with store.use("a"), pytest.raises(ApiError) as refusal:
            await load(store, tmp_path, "b")
        assert (refusal.value.status, refusal.value.code) == (503, "adapters_busy")
        store._room_wait_s = 60.0
        for name in ("b", "c"):
            await load(store, tmp_path, name)
            assert engine.holds == store.names() == [name]

    run(story, room_wait_s=0.2)


def test_a_refused_adapter_gives_its_place_back(run: Callable[..., None], tmp_path: Path) -> None:
    async def story(store: AdapterStore, engine: Engine) -> None:
        for _ in range(3):
            with pytest.raises(ApiError):
                await load(store, tmp_path, "bad")
        await load(store, tmp_path, "a")
        assert engine.holds == store.names() == ["a"]

    run(story)


def put(store: AdapterStore, name: str, account: str, size: int) -> Awaitable[None]:
    return store._load(name, Path(name), None, Place(account, size))


def test_an_account_makes_room_within_its_share_and_never_takes_the_share_of_another(tmp_path: Path) -> None:
    async def story() -> None:
        store = AdapterStore(Engine(), tmp_path, EngineMetrics(), max_loaded=100, max_bytes=100, room_wait_s=60)
        await put(store, "other", "other", 50)
        for at in range(20):
            await put(store, f"greedy {at}", "greedy", 10)
        assert store.names() == ["other", *(f"greedy {at}" for at in range(15, 20))]
        await put(store, "third", "third", 10)
        assert store.names() == [*(f"greedy {at}" for at in range(15, 20)), "third"], "of equals, the first"
        await put(store, "fourth", "fourth", 40)
        await put(store, "fourth, too", "fourth", 10)
        assert sum(place.size for place in store._places) <= 100
        assert {"third", "fourth, too"} <= set(store.names())

    asyncio.run(without_stay(story))


def test_many_small_adapters_count_as_a_few_large_adapters(tmp_path: Path) -> None:
    async def story() -> None:
        store = AdapterStore(Engine(), tmp_path, EngineMetrics(), max_loaded=4, max_bytes=1000, room_wait_s=60)
        await put(store, "large", "other", 400)
        for at in range(9):
            await put(store, f"small {at}", "greedy", 1)
        assert store.names() == ["large", "small 6", "small 7", "small 8"]

    asyncio.run(without_stay(story))


def test_an_adapter_larger_than_the_budget_is_kept_alone(tmp_path: Path) -> None:
    async def story() -> None:
        store = AdapterStore(Engine(), tmp_path, EngineMetrics(), max_bytes=100, room_wait_s=60)
        for name, size in (("a", 10), ("huge", 500), ("b", 10)):
            await put(store, name, "one", size)
        assert store.names() == ["b"]

    asyncio.run(without_stay(story))


async def without_stay(story: Callable[[], Awaitable[None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapters, "STAY_S", 0.0)
        await story()
