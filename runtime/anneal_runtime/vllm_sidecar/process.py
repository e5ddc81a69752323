"""The life of the sidecar: it waits for vLLM, checks it, reports, and ends when vLLM does."""

from __future__ import annotations

import asyncio

from starlette.routing import Route

from anneal_runtime import exit_codes
from anneal_runtime.log import log
from anneal_runtime.server import adapter_routes
from anneal_runtime.server.adapters import AdapterStore
from anneal_runtime.server.app import create_app
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.server.process import ReportingServer
from anneal_runtime.settings import ServerSettings
from anneal_runtime.vllm_sidecar import routes
from anneal_runtime.vllm_sidecar.engine import EngineAway, VllmClient
from anneal_runtime.vllm_sidecar.plain_texts import plain_texts
from anneal_runtime.vllm_sidecar.serving import SidecarServing
from anneal_runtime.vllm_sidecar.version_probe import (
    UnknownEngine,
    check_version,
    context_length,
    try_generation,
    try_grammar,
)
from anneal_runtime.vllm_sidecar.vllm_adapters import VllmAdapters

ASK_AGAIN_S = 1.0
LOOK_EVERY_S = 5.0
# Failed looks in a row: a loaded engine answers late, one that has ended refuses at once. A minute for one that hangs.
LOOKS_FAILED = 3


class SidecarProcess(ReportingServer):
    def __init__(self, settings: ServerSettings) -> None:
        metrics = EngineMetrics()
        super().__init__(settings, create_app(settings.token, metrics, ROUTES), metrics)
        self._engine = VllmClient(settings.engine_url)

    def _begin(self) -> None:
        # Kept: the loop itself holds its tasks only weakly.
        self._life = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        try:
            await self._until_healthy()
            self._open(await self._try_out())
            await self._until_gone()
            log("vLLM has ended; the sidecar exits to restart with it")
            self._end(exit_codes.CODE_ERROR)
        except UnknownEngine as error:
            log(str(error))
            self._end(exit_codes.UNSUPPORTED_RUNTIME)
        except EngineAway as error:
            log(f"vLLM stopped answering during the start-up check: {error}")
            self._end(exit_codes.CODE_ERROR)
        except Exception as error:
            self._fail("The sidecar failed", error, exit_codes.CODE_ERROR)

    async def _until_healthy(self) -> None:
        """As long as it takes: whoever started the pod knows when to give up, and why vLLM ended."""
        while not await self._engine.is_healthy():
            await asyncio.sleep(ASK_AGAIN_S)

    async def _until_gone(self) -> None:
        failures = 0
        while failures < LOOKS_FAILED:
            await asyncio.sleep(LOOK_EVERY_S if failures == 0 else ASK_AGAIN_S)
            failures = 0 if await self._engine.is_healthy() else failures + 1

    async def _try_out(self) -> SidecarServing:
        spec = self._settings.spec
        version = await check_version(self._engine)
        tokens = await context_length(self._engine, spec.name)
        await try_generation(self._engine, spec.name)
        await try_grammar(self._engine, spec.name)
        log(f"vLLM {version} serves {spec.name} with {tokens} tokens of context.")
        loader = VllmAdapters(self._engine, spec.name, spec.sha256)
        folder, room = self._settings.work_dir / "adapters", (spec.max_adapters, spec.adapter_memory_bytes)
        adapters = AdapterStore(loader, folder, self._metrics, *room, sharing=self._app.state.sharing)
        texts = await plain_texts(self._settings, self._engine, self._app.state.sharing)
        return SidecarServing(self._engine, adapters, spec.name, tokens, self._metrics, texts)


ROUTES = [
    Route("/v1/models", routes.list_models),
    Route("/v1/completions", routes.completions, methods=["POST"]),
    Route("/v1/chat/completions", routes.chat_completions, methods=["POST"]),
    Route("/v1/embeddings", routes.embeddings, methods=["POST"]),
    Route("/tokenize", routes.tokenize, methods=["POST"]),
    Route("/agent/v1/call-format", routes.call_format, methods=["POST"]),
    Route("/agent/v1/preview-rows", routes.preview_rows, methods=["POST"]),
    Route("/agent/v1/adapters/{name}", adapter_routes.put_adapter, methods=["PUT"]),
    Route("/agent/v1/adapters/{name}", adapter_routes.delete_adapter, methods=["DELETE"]),
]
