"""The HTTP application: routes, the token, and one shape for every refusal."""

from __future__ import annotations

import asyncio
import hmac
import traceback
from time import monotonic
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anneal_runtime.log import log
from anneal_runtime.server import adapter_routes, generation_routes, openai_routes
from anneal_runtime.server.account_turns import AccountTurns, Sharing
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.server.serving import ACCOUNT_HEADER


def create_app(token: str, metrics: EngineMetrics, engine_routes: list[Route] | None = None) -> Starlette:
    """`app.state.serving` is None until the model is loaded. `engine_routes`: of another engine than ours."""
    sharing = Sharing()
    routes = [Route("/health", health), Route("/metrics", prometheus), *(engine_routes or own_routes())]
    handlers: Any = {ApiError: refuse, HTTPException: refuse_http, Exception: apologise}
    edge = [
        Middleware(CountRequests, metrics=metrics, routes=routes),
        Middleware(RequireToken, token=token),
        Middleware(TakeTurns, sharing=sharing),
    ]
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=edge)
    app.state.serving, app.state.metrics, app.state.sharing = None, metrics, sharing
    return app


def own_routes() -> list[Route]:
    return [
        Route("/v1/models", openai_routes.list_models),
        Route("/v1/completions", generation_routes.completions, methods=["POST"]),
        Route("/v1/chat/completions", generation_routes.chat_completions, methods=["POST"]),
        Route("/v1/embeddings", openai_routes.embeddings, methods=["POST"]),
        Route("/tokenize", openai_routes.tokenize, methods=["POST"]),
        Route("/agent/v1/call-format", openai_routes.call_format, methods=["POST"]),
        Route("/agent/v1/preview-rows", openai_routes.preview_rows, methods=["POST"]),
        Route("/v1/load_lora_adapter", openai_routes.load_lora_adapter, methods=["POST"]),
        Route("/v1/unload_lora_adapter", openai_routes.unload_lora_adapter, methods=["POST"]),
        Route("/agent/v1/adapters/{name}", adapter_routes.put_adapter, methods=["PUT"]),
        Route("/agent/v1/adapters/{name}", adapter_routes.delete_adapter, methods=["DELETE"]),
    ]


async def health(request: Request) -> Response:
    loaded = request.app.state.serving is not None
    return JSONResponse({"status": "ok" if loaded else "loading"}, 200 if loaded else 503)


async def prometheus(request: Request) -> Response:
    return PlainTextResponse(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


async def refuse(_request: Request, error: Exception) -> Response:
    return cast(ApiError, error).response()


async def refuse_http(_request: Request, error: Exception) -> Response:
    http = cast(HTTPException, error)
    response = ApiError(http.status_code, http.detail).response()
    response.headers.update(http.headers or {})
    return response


async def apologise(request: Request, error: Exception) -> Response:
    """Answers 500 for our own bugs and failed batches. The log has the details, the client does not."""
    log(f"{request.method} {request.url.path} failed: " + "".join(traceback.format_exception(error)))
    return ApiError(500, "The server failed to answer this request.").response()


class RequireToken:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health" and not self._is_allowed(scope):
            refusal = ApiError(401, "The token is missing or wrong.").response()
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(given, self._expected)


class TakeTurns:
    """Accounts take turns to begin: two hundred requests of one account delay another one by one of them."""

    def __init__(self, app: ASGIApp, sharing: Sharing) -> None:
        self._app, self._sharing, self._turns = app, sharing, AccountTurns(sharing=sharing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            account = dict(scope["headers"]).get(ACCOUNT_HEADER.encode(), b"").decode("latin-1")
            if account:
                self._sharing.note(account)
            await self._turns.take(account)
            # A turn lasts until the request waits for something.
            asyncio.get_running_loop().call_soon(self._end, account, monotonic())
        await self._app(scope, receive, send)

    def _end(self, account: str, begun: float) -> None:
        self._turns.rest(account, monotonic() - begun)
        self._turns.end()


class CountRequests:
    def __init__(self, app: ASGIApp, metrics: EngineMetrics, routes: list[Route]) -> None:
        self._app, self._metrics = app, metrics
        self._paths = {route.path for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.requests.labels(self._route(scope), f"{message['status'] // 100}xx").inc()
            await send(message)

        await self._app(scope, receive, counted if scope["type"] == "http" else send)

    def _route(self, scope: Scope) -> str:
        path = scope["path"]
        if path.startswith("/agent/v1/adapters/"):
            return "/agent/v1/adapters/{name}"
        return path if path in self._paths else "other"
