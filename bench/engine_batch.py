"""All prompts in one call of the engine, in its own process.

In: {"prompts", "regex", "max_tokens"}; out: {"seconds", "texts"}.
"""

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "runtime"))
from anneal_runtime.server import work  # noqa: E402
from anneal_runtime.server.decoding.rows import SamplingParams  # noqa: E402
from anneal_runtime.server.engine import load_engine  # noqa: E402
from anneal_runtime.server.metrics import EngineMetrics  # noqa: E402
from anneal_runtime.settings import ServerSettings  # noqa: E402

asked = json.load(sys.stdin)
(entry, *_) = json.loads((root / "models.json").read_text())["models"]
spec = {**entry, "context_length": entry["contextLength"], "max_batch": entry.get("maxBatch", 64)}
os.environ |= {
    "ANNEAL_INTERNAL_URL": "http://nobody",
    "ANNEAL_TOKEN": "none",
    "ANNEAL_MODELS_DIR": str(root),
    "ANNEAL_WORK_DIR": "/nonexistent",
    "ANNEAL_SERVER_SPEC": json.dumps(spec),
}
engine = load_engine(ServerSettings.from_environment(), EngineMetrics())
threading.Thread(target=engine.scheduler.run_forever, daemon=True).start()
params = SamplingParams(max_tokens=asked["max_tokens"], temperature=0.0, top_p=1.0, seed=None, stop=())


async def answer(prompts: list[str]) -> list[str]:
    assert engine.generator is not None
    grammar = engine.generator.grammars.compile(asked["regex"])
    answers = await work.generate(engine, engine.prompt_tokens(prompts), params, grammar=grammar)
    return [answer.text for answer in answers]


asyncio.run(answer(asked["prompts"][:64]))
started = time.perf_counter()
texts = asyncio.run(answer(asked["prompts"]))
print(json.dumps({"seconds": time.perf_counter() - started, "texts": texts}))
