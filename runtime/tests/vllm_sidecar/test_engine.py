import asyncio
import socket

import pytest

from anneal_runtime.vllm_sidecar import engine


def test_a_vllm_that_takes_connections_and_never_answers_has_hung(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "HEALTH_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = engine.VllmClient(f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert not asyncio.run(client.is_healthy())
