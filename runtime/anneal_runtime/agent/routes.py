"""vLLM's routes, passed on. Mended where it refuses what we promise: an answer is cut to the room that the context
leaves, and a prompt that leaves none is named by its position.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anneal_runtime.agent.engine import EngineAnswer, EngineAway
from anneal_runtime.agent.serving import AgentServing, agent_of
from anneal_runtime.server import bodies
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.serving import stop_with_client

# Some models begin with one or two tokens of their own; besides those a token has at least a byte.
EXTRA_TOKENS = 2
COUNTS_AT_ONCE = 8


async def list_models(request: Request) -> Response:
    return _passed_on(await _ask(agent_of(request).engine.get("/v1/models")))


async def tokenize(request: Request) -> Response:
    return await _pass_on(request, "/tokenize")


async def embeddings(request: Request) -> Response:
    return await _pass_on(request, "/v1/embeddings")


async def completions(request: Request) -> Response:
    serving = agent_of(request)
    body = await bodies.read_object(request)
    with serving.adapters.use(body.get("model")):
        prompts = bodies.texts(body, "prompt")
        max_tokens = bodies.sampling_params(body).max_tokens
        serving.metrics.prompts.add(len(prompts))
        answers = await stop_with_client(request, _complete(serving, body, prompts, max_tokens))
    return JSONResponse(answers)


async def _complete(serving: AgentServing, body: dict[str, Any], prompts: list[str], max_tokens: int) -> dict[str, Any]:
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
    serving.metrics.prompt_tokens.add(usage.get("prompt_tokens", 0))
    serving.metrics.generated_tokens.add(usage.get("completion_tokens", 0))
    return {**whole, "choices": sorted(choices, key=lambda choice: int(choice["index"])), "usage": usage}


async def _limits(serving: AgentServing, model: str, prompts: list[str], max_tokens: int) -> list[int]:
    """Tokens that each answer may have. Only prompts that might not leave that many are counted exactly."""
    turns = asyncio.Semaphore(COUNTS_AT_ONCE)

    async def limit(index: int, prompt: str) -> int:
        if len(prompt.encode()) + EXTRA_TOKENS + max_tokens <= serving.context_length:
            return max_tokens
        async with turns:
            answer = await _ask(serving.engine.post("/tokenize", {"model": model, "prompt": prompt}))
        room = serving.context_length - int(_accepted(answer)["count"])
        if room < 1:
            message = (
                f"This model's maximum context length is {serving.context_length} tokens, and at least one is for the "
                f"answer. The prompt at position {index} has {serving.context_length - room} tokens."
            )
            raise ApiError(400, message, param="prompt", index=index)
        return min(max_tokens, room)

    return await asyncio.gather(*(limit(index, prompt) for index, prompt in enumerate(prompts)))


async def _pass_on(request: Request, path: str) -> Response:
    serving = agent_of(request)
    body = await bodies.read_object(request)
    with serving.adapters.use(body.get("model", serving.adapters_base)):
        return _passed_on(await stop_with_client(request, _ask(serving.engine.post(path, body))))


async def _ask(call: Any) -> EngineAnswer:
    try:
        answer: EngineAnswer = await call
    except EngineAway as error:
        raise ApiError(503, str(error)) from error
    return answer


def _accepted(answer: EngineAnswer) -> dict[str, Any]:
    """Raises ApiError with vLLM's own refusal."""
    if answer.status == 200:
        body: dict[str, Any] = answer.json()
        return body
    param = "structured_outputs" if any(word in answer.message().lower() for word in ("regex", "grammar")) else None
    raise ApiError(answer.status, answer.message(), param=param)


def _passed_on(answer: EngineAnswer) -> Response:
    if answer.status != 200:
        _accepted(answer)
    return Response(answer.body, answer.status, media_type="application/json")
