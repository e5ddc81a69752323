import asyncio
from pathlib import Path

import pytest

from anneal_runtime.server.adapters import AdapterStore
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.metrics import EngineMetrics


class Engine:
    base = "base"

    def __init__(self) -> None:
        self.holds: list[str] = []

    async def load(self, name: str, _folder: Path) -> str:
        self.holds.append(name)
        return name

    async def unload(self, name: str) -> None:
        self.holds.remove(name)


def test_an_adapter_that_finds_no_room_does_not_stay_in_the_engine(tmp_path: Path) -> None:
    for name in ("used", "next"):
        (tmp_path / name).mkdir()
    engine = Engine()
    store = AdapterStore(engine, tmp_path, EngineMetrics(), max_loaded=1)

    async def fill() -> None:
        await store.load_folder("used", "used")
        with store.use("used"), pytest.raises(ApiError) as refusal:
            await store.load_folder("next", "next")
        assert (refusal.value.status, refusal.value.code) == (503, "adapters_busy")
        assert engine.holds == store.names() == ["used"]
        await store.load_folder("next", "next")
        assert engine.holds == store.names() == ["next"]

    asyncio.run(fill())
