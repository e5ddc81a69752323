"""Starts an engine in this process, with the settings of its model server."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "runtime"))
from anneal_runtime.server.engine import Engine, load_engine  # noqa: E402
from anneal_runtime.server.metrics import EngineMetrics  # noqa: E402
from anneal_runtime.settings import ServerSettings  # noqa: E402


def default_model() -> dict[str, Any]:
    (entry, *_) = json.loads((root / "models.json").read_text())["models"]
    return {**entry, "context_length": entry["contextLength"], "max_batch": entry.get("maxBatch", 64)}


def start_engine(spec: dict[str, Any] | None = None) -> Engine:
    os.environ |= {
        "ANNEAL_INTERNAL_URL": "http://nobody",
        "ANNEAL_TOKEN": "none",
        "ANNEAL_MODELS_DIR": str(root),
        "ANNEAL_WORK_DIR": "/nonexistent",
        "ANNEAL_SERVER_SPEC": json.dumps(spec or default_model()),
    }
    engine = load_engine(ServerSettings.from_environment(), EngineMetrics())
    threading.Thread(target=engine.scheduler.run_forever, daemon=True).start()
    return engine
