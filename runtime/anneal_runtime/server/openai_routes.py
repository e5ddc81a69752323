"""vLLM's OpenAI routes beside those that generate: models, embeddings, tokenize, and its two adapter routes.

Two of ours tell how the model's template writes calls, and what a training would learn of rows.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from anneal_runtime import tool_text
from anneal_runtime.server import engine_requests, request_bodies
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.generation_routes import chat_tokens, usage
from anneal_runtime.server.serving import Serving, account_of, serving_of, stop_with_client

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


async def list_models(request: Request) -> Response:
    serving = serving_of(request)
    base = serving.engine.name
    entries = [_model_entry(base, None, serving.engine.context_length)]
    entries += [_model_entry(name, base, serving.engine.context_length) for name in serving.adapters.names()]
    return JSONResponse({"object": "list", "data": entries})


async def embeddings(request: Request) -> Response:
    serving = serving_of(request)
    body = await request_bodies.read_object(request)
    with serving.adapters.use(body.get("model")) as adapter:
        inputs = request_bodies.texts(body, "input")
        encoding = body.get("encoding_format") or "float"
        if encoding not in ("float", "base64"):
            raise ApiError(400, "encoding_format must be float or base64.", param="encoding_format")
        account = account_of(request)
        texts = await _windows(serving, account, body, inputs)
        serving.metrics.texts.inc(len(inputs))
        vectors = await stop_with_client(
            request, engine_requests.encode(serving.engine, texts, adapter, account=account)
        )
    tokens = sum(map(_token_count, texts))
    content = await asyncio.to_thread(_embedding_list, body["model"], vectors, encoding, tokens)
    return Response(content, media_type="application/json")


async def _windows(serving: Serving, account: str, body: dict[str, Any], inputs: list[str]) -> list[list[list[int]]]:
    """The windows of each text. Raises ApiError 400 with the position of a text that is too long."""
    most, cut = request_bodies.text_length(body, serving.engine.context_length)
    texts = await serving.texts.windows(account, inputs, serving.engine.context_length if cut else most)
    if cut:
        return [text[:1] for text in texts]
    for index, text in enumerate(texts):
        if _token_count(text) > most:
            message = f"This model's maximum input length is {most} tokens. The text at position {index} has more."
            raise ApiError(400, message, param="input", index=index)
    return texts


def _token_count(windows: list[list[int]]) -> int:
    return sum(map(len, windows))


async def tokenize(request: Request) -> Response:
    serving = serving_of(request)
    body = await request_bodies.read_object(request)
    with serving.adapters.use(body.get("model", serving.engine.name)):
        if "messages" in body:
            messages, tools = request_bodies.messages(body), request_bodies.tools(body)
            tokens = await chat_tokens(serving, account_of(request), messages, tools)
        else:
            prompts = request_bodies.prompts(body)
            if len(prompts) != 1:
                raise ApiError(400, "prompt must be a string.", param="prompt")
            (tokens,) = await serving.texts.prompts(account_of(request), prompts)
    return JSONResponse({"count": len(tokens), "max_model_len": serving.engine.context_length, "tokens": tokens})


async def call_format(request: Request) -> Response:
    """How the model writes calls of functions, and the special token that begins them, if there is one."""
    tokenizer = serving_of(request).engine.tokenizer
    form, _ = tool_text.call_format(tokenizer)
    return JSONResponse({"name": form.name, "token": tool_text.trigger_token(tokenizer)})


async def preview_rows(request: Request) -> Response:
    serving = serving_of(request)
    preview, rows = request_bodies.previewed_rows(await request_bodies.read_object(request))
    return JSONResponse({"rows": await serving.texts.previews(account_of(request), preview, rows)})


async def load_lora_adapter(request: Request) -> Response:
    body = await request_bodies.read_object(request)
    name = request_bodies.string(body, "lora_name")
    await serving_of(request).adapters.load_folder(name, request_bodies.string(body, "lora_path"))
    return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")


async def unload_lora_adapter(request: Request) -> Response:
    name = request_bodies.string(await request_bodies.read_object(request), "lora_name")
    if not await serving_of(request).adapters.remove(name):
        raise ApiError(404, f"The lora adapter '{name}' cannot be found.", param="lora_name")
    return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")


def _embedding_list(model: str, vectors: list[NDArray[np.float32]], encoding: str, prompt_tokens: int) -> bytes:
    """Written in pieces: ten thousand vectors in one go would hold the interpreter for seconds."""
    items = []
    for index, vector in enumerate(vectors):
        if encoding == "base64":
            value = '"' + base64.b64encode(vector.tobytes()).decode() + '"'
        else:
            value = "[" + ",".join([f"{number:.8g}" for number in vector.tolist()]) + "]"
        items.append(f'{{"object":"embedding","index":{index},"embedding":{value}}}')
    tail = json.dumps({"model": model, "usage": usage(prompt_tokens, 0)})[1:]
    return f'{{"object":"list","data":[{",".join(items)}],{tail}'.encode()


def _model_entry(name: str, parent: str | None, context_length: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "owned_by": "anneal", "parent": parent, "max_model_len": context_length}
