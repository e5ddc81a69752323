"""State that the sidecar's routes share once the start-up check has passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from anneal_runtime.server.adapters import AdapterStore
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.vllm_sidecar.engine import VllmClient
from anneal_runtime.vllm_sidecar.plain_texts import PlainTexts


@dataclass(frozen=True)
class SidecarServing:
    engine: VllmClient
    adapters: AdapterStore
    adapters_base: str
    context_length: int
    metrics: EngineMetrics
    texts: PlainTexts


def sidecar_of(request: Request) -> SidecarServing:
    """Raises ApiError 503 until the engine is ready."""
    serving = request.app.state.serving
    if serving is None:
        raise ApiError(503, "The model is loading.")
    return cast(SidecarServing, serving)
