"""vLLM's routes, passed on. Mended where it refuses what we promise: an answer is cut to the room that the context
leaves, and a prompt that leaves none is named by its position.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from anneal_runtime import tool_text
from anneal_runtime.server import request_bodies, request_extras
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.serving import account_of, stop_with_client
from anneal_runtime.vllm_sidecar.engine import EngineAnswer, EngineAway
from anneal_runtime.vllm_sidecar.serving import SidecarServing, sidecar_of

# Some models begin with one or two tokens of their own; besides those a token has at least a byte.
EXTRA_TOKENS = 2
COUNTS_AT_ONCE = 8
# Texts, or lists of token ids.
Prompts = Sequence[str | list[int]]


async def list_models(request: Request) -> Response:
    return _passed_on(await _ask(sidecar_of(request).engine.get("/v1/models")))


async def tokenize(request: Request) -> Response:
    serving, account = sidecar_of(request), account_of(request)
    body = _with_calls_as_text(await request_bodies.read_object(request))
    plain = serving.texts.chat if "messages" in body else serving.texts.prompts
    asked = await plain(account, body)
    if not isinstance(asked.get("prompt"), list):
        return await _pass_on(serving, request, "/tokenize", asked)
    (tokens,) = asked["prompt"]
    return JSONResponse({"count": len(tokens), "max_model_len": serving.context_length, "tokens": tokens})


async def call_format(_request: Request) -> Response:
    """vLLM does not show the model's chat template, so functions and calls are text in every conversation."""
    return JSONResponse({"name": tool_text.HERMES.name, "token": None})


async def preview_rows(request: Request) -> Response:
    preview, rows = request_bodies.previewed_rows(await request_bodies.read_object(request))
    return JSONResponse({"rows": await sidecar_of(request).texts.previews(account_of(request), preview, rows)})


async def embeddings(request: Request) -> Response:
    """vLLM has this route only where it serves a model of embeddings."""
    serving = sidecar_of(request)
    body = await serving.texts.texts(account_of(request), await request_bodies.read_object(request))
    try:
        return await _pass_on(serving, request, "/v1/embeddings", body)
    except ApiError as error:
        if error.status != 404 or "Not Found" not in str(error):
            raise
        name = serving.adapters_base
        message = f"{name} gives no embeddings, because vLLM serves it for completions. Ask an embedding model."
        raise ApiError(400, message, param="model") from error


async def completions(request: Request) -> Response:
    serving = sidecar_of(request)
    body = await serving.texts.prompts(account_of(request), await request_bodies.read_object(request))
    return await _completion(serving, request, body)


async def _completion(serving: SidecarServing, request: Request, body: dict[str, Any]) -> Response:
    if body.get("stream"):
        return await _stream(serving, "/v1/completions", body)
    with serving.adapters.use(body.get("model")):
        prompts = _prompts(body)
        params = request_bodies.sampling_params(body)
        if params.extras is not None and params.extras.at_temperature and params.temperature != 1:
            message = "vLLM gives log-probabilities before the temperature: ask at temperature 1."
            raise ApiError(400, message, param="logprobs_at_temperature")
        if params.extras is not None and params.extras.restricted:
            message = "vLLM tells the log-probabilities before grammars and penalties only."
            raise ApiError(400, message, param="logprobs_restricted")
        serving.metrics.prompts.inc(len(prompts))
        answers = await stop_with_client(request, _complete(serving, body, prompts, params.max_tokens))
    return JSONResponse(answers)


async def chat_completions(request: Request) -> Response:
    """A chat of token ids answers as a completion does, with `text` in place of a message: the service reads both."""
    serving = sidecar_of(request)
    body = _with_calls_as_text(await request_bodies.read_object(request))
    body = await serving.texts.chat(account_of(request), body)
    if "messages" not in body:
        return await _completion(serving, request, body)
    if body.get("stream"):
        return await _stream(serving, "/v1/chat/completions", body)
    with serving.adapters.use(body.get("model")):
        asked = await _within_context(serving, body)
        serving.metrics.prompts.inc(1)
        answer = _accepted(await stop_with_client(request, _ask(serving.engine.post("/v1/chat/completions", asked))))
        _count(serving, answer.get("usage") or {})
    return JSONResponse(answer)


async def _stream(serving: SidecarServing, path: str, body: dict[str, Any]) -> Response:
    events = _events(serving, path, body)
    # As far as what may still be refused.
    await anext(events)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(serving: SidecarServing, path: str, body: dict[str, Any]) -> AsyncIterator[bytes]:
    with serving.adapters.use(body.get("model")):
        asked = await _within_context(serving, body)
        try:
            async for piece in serving.engine.stream(path, asked):
                if isinstance(piece, EngineAnswer):
                    _accepted(piece, json=False)
                    serving.metrics.prompts.inc(1)
                    yield b""
                else:
                    yield piece
        except EngineAway as error:
            raise ApiError(503, str(error)) from error


async def _within_context(serving: SidecarServing, body: dict[str, Any]) -> dict[str, Any]:
    """One prompt, or one conversation, whose answer is cut to the room that there is."""
    max_tokens = request_bodies.sampling_params(body).max_tokens
    if "messages" not in body:
        prompts = _prompts(body)
        if len(prompts) != 1:
            raise ApiError(400, "stream takes one prompt, not a list.", param="prompt")
        return {**body, "max_tokens": (await _limits(serving, str(body["model"]), prompts, max_tokens))[0]}
    asked = {"model": body["model"], "messages": request_bodies.messages(body)}
    room = await _room(serving, asked, 0)
    return {**body, "max_tokens": min(max_tokens, room)}


async def _complete(serving: SidecarServing, body: dict[str, Any], prompts: Prompts, max_tokens: int) -> dict[str, Any]:
    limits = await _limits(serving, str(body["model"]), prompts, max_tokens)
    groups = sorted(set(limits))
    requests = [
        (positions, {**body, "prompt": [prompts[at] for at in positions], "max_tokens": limit})
        for limit, positions in ((limit, [at for at, each in enumerate(limits) if each == limit]) for limit in groups)
    ]
    answers = await asyncio.gather(*(_ask(serving.engine.post("/v1/completions", each)) for _, each in requests))
    choices: list[dict[str, Any]] = []
    whole: dict[str, Any] = {}
    usage: dict[str, int] = {}
    for (positions, _), answer in zip(requests, answers, strict=True):
        whole = _accepted(answer)
        choices += [{**choice, "index": positions[choice["index"]]} for choice in whole["choices"]]
        for key, count in (whole.get("usage") or {}).items():
            if isinstance(count, int):
                usage[key] = usage.get(key, 0) + count
    _count(serving, usage)
    return {**whole, "choices": sorted(choices, key=lambda choice: int(choice["index"])), "usage": usage}


def _prompts(body: dict[str, Any]) -> Prompts:
    return request_extras.token_prompts(body) or request_bodies.texts(body, "prompt")


def _count(serving: SidecarServing, usage: dict[str, int]) -> None:
    serving.metrics.prompt_tokens.inc(usage.get("prompt_tokens", 0))
    serving.metrics.generated_tokens.inc(usage.get("completion_tokens", 0))


async def _limits(serving: SidecarServing, model: str, prompts: Prompts, max_tokens: int) -> list[int]:
    """Tokens that each answer may have. Only prompts that might not leave that many are counted exactly."""
    turns = asyncio.Semaphore(COUNTS_AT_ONCE)

    async def limit(index: int, prompt: str | list[int]) -> int:
        if isinstance(prompt, list):
            return min(max_tokens, _left(serving, len(prompt), index, max_tokens))
        if len(prompt.encode()) + EXTRA_TOKENS + max_tokens <= serving.context_length:
            return max_tokens
        async with turns:
            return min(max_tokens, await _room(serving, {"model": model, "prompt": prompt}, index, max_tokens))

    return await asyncio.gather(*(limit(index, prompt) for index, prompt in enumerate(prompts)))


async def _room(serving: SidecarServing, asked: dict[str, Any], index: int, wanted: int = 1) -> int:
    """Tokens that the context leaves for the answer. Raises ApiError when there are none, unless none is wanted."""
    count = int(_accepted(await _ask(serving.engine.post("/tokenize", asked)))["count"])
    return _left(serving, count, index, wanted)


def _left(serving: SidecarServing, count: int, index: int, wanted: int) -> int:
    if count < serving.context_length or (wanted == 0 and count == serving.context_length):
        return serving.context_length - count
    message = (
        f"This model's maximum context length is {serving.context_length} tokens, and at least one is for the "
        f"answer. The prompt at position {index} has {count} tokens."
    )
    raise ApiError(400, message, param="prompt", index=index)


async def _pass_on(serving: SidecarServing, request: Request, path: str, body: dict[str, Any]) -> Response:
    with serving.adapters.use(body.get("model", serving.adapters_base)):
        return _passed_on(await stop_with_client(request, _ask(serving.engine.post(path, body))))


def _with_calls_as_text(body: dict[str, Any]) -> dict[str, Any]:
    if "messages" not in body:
        return body
    messages = tool_text.as_text(request_bodies.messages(body), request_bodies.tools(body))
    return {**{key: value for key, value in body.items() if key != "tools"}, "messages": messages}


async def _ask(call: Any) -> EngineAnswer:
    try:
        answer: EngineAnswer = await call
    except EngineAway as error:
        raise ApiError(503, str(error)) from error
    return answer


def _accepted(answer: EngineAnswer, *, json: bool = True) -> dict[str, Any]:
    """Raises ApiError with vLLM's own refusal."""
    if answer.status == 200:
        body: dict[str, Any] = answer.json() if json else {}
        return body
    raise ApiError(answer.status, answer.message(), param=_refused_param(answer.message().lower()))


def _refused_param(message: str) -> str | None:
    """vLLM rarely names the parameter apart from its sentence."""
    if any(word in message for word in ("regex", "grammar")):
        return "structured_outputs"
    if "logit_bias" in message:
        return "logit_bias"
    return "prompt_token_ids" if "out of vocabulary" in message else None


def _passed_on(answer: EngineAnswer) -> Response:
    if answer.status != 200:
        _accepted(answer)
    return Response(answer.body, answer.status, media_type="application/json")
