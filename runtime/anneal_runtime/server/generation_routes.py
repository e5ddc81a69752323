"""vLLM's OpenAI routes that generate: completions of prompts, and of one conversation; whole or as they are decoded."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from anneal_runtime.server import engine_requests, request_bodies, request_extras
from anneal_runtime.server.decoding.rows import Answer, GenerationFailed, GrammarFailed, SamplingParams
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.logprobs import logprobs_of
from anneal_runtime.server.serving import Serving, account_of, serving_of, stop_with_client
from anneal_runtime.tokenization import ChatRefused, text_of

if TYPE_CHECKING:
    from llguidance import LLMatcher


async def completions(request: Request) -> Response:
    return await _answer(request, await request_bodies.read_object(request), is_chat=False)


async def chat_completions(request: Request) -> Response:
    return await _answer(request, await request_bodies.read_object(request), is_chat=True)


@dataclass(frozen=True)
class Asked:
    body: dict[str, Any]
    is_chat: bool
    account: str
    # The prompts as they came, None for a chat, and as the model reads them.
    texts: list[str] | None
    tokens: list[list[int]]
    params: SamplingParams
    grammar: LLMatcher | None
    # Choices have `token_ids`, with the token that ended the answer, if one did.
    returns_tokens: bool

    @property
    def prompt_tokens(self) -> int:
        return sum(map(len, self.tokens))

    def answer(self, choices: list[dict[str, Any]], *, chunk: bool = False) -> dict[str, Any]:
        kind = "text_completion" if not self.is_chat else "chat.completion.chunk" if chunk else "chat.completion"
        name = f"{'chatcmpl' if self.is_chat else 'cmpl'}-{uuid.uuid4().hex}"
        return {
            "id": name,
            "object": kind,
            "created": int(time.time()),
            "model": self.body["model"],
            "choices": choices,
        }


async def _answer(request: Request, body: dict[str, Any], *, is_chat: bool) -> Response:
    serving = serving_of(request)
    if body.get("stream") not in (None, False, True):
        raise ApiError(400, "stream must be true or false.", param="stream")
    if body.get("stream"):
        events = _events(serving, body, account_of(request), is_chat)
        # Run up to the first event, so that a refusal still gets its own status.
        await anext(events)
        return StreamingResponse(events, media_type="text/event-stream")
    with serving.adapters.use(body.get("model")) as adapter:
        asked = await _read(serving, body, account_of(request), is_chat)
        generation = engine_requests.generate(
            serving.engine, asked.tokens, asked.params, account=asked.account, adapter=adapter, grammar=asked.grammar
        )
        try:
            answers = await stop_with_client(request, generation)
        except GrammarFailed as error:
            _forget(serving, asked)
            raise ApiError(400, str(error), param="structured_outputs") from error
    content = await asyncio.to_thread(_whole, serving, asked, answers)
    return Response(content, media_type="application/json")


async def _read(serving: Serving, body: dict[str, Any], account: str, is_chat: bool) -> Asked:
    """Raises ApiError for an invalid body."""
    if serving.engine.generator is None:
        raise ApiError(400, "This model only gives embeddings: send the text to /v1/embeddings.", param="model")
    ids = None if is_chat else request_extras.token_prompts(body)
    prompts = [] if is_chat or ids is not None else request_bodies.prompts(body)
    messages, tools = (request_bodies.messages(body), request_bodies.tools(body)) if is_chat else ([], [])
    params, wanted = request_bodies.sampling_params(body), request_bodies.grammar(body)
    returns_tokens = request_extras.returns_tokens(body)
    request_extras.check_vocabulary(body, ids, serving.engine.generator.vocabulary.size)
    grammar = None if wanted is None else await _compile(serving, account, *wanted)
    if ids is not None:
        tokens, texts = ids, [text_of(serving.engine.tokenizer, each) for each in ids] if _echoes(params) else None
    elif is_chat:
        tokens, texts = [await chat_tokens(serving, account, messages, tools)], None
    else:
        tokens, texts = await serving.texts.prompts(account, prompts), [each.before + each.text for each in prompts]
    # An echo without an answer may fill the context.
    _check_room(tokens, serving.engine.context_length + (1 if params.max_tokens == 0 else 0))
    asked = Asked(body, is_chat, account, texts, tokens, params, grammar, returns_tokens)
    serving.metrics.prompts.inc(len(tokens))
    serving.metrics.prompt_tokens.inc(asked.prompt_tokens)
    return asked


async def _events(serving: Serving, body: dict[str, Any], account: str, is_chat: bool) -> AsyncIterator[bytes]:
    """Yields an empty piece once every check has passed, then server-sent events."""
    with serving.adapters.use(body.get("model")) as adapter:
        asked = await _read(serving, body, account, is_chat)
        yield b""
        try:
            async for each in _chunks(serving, asked, adapter):
                yield _event(each)
        except GenerationFailed as error:
            is_grammar = isinstance(error, GrammarFailed)
            if is_grammar:
                _forget(serving, asked)
            refusal = ApiError(
                400 if is_grammar else 500, str(error), param="structured_outputs" if is_grammar else None
            )
            yield b"data: " + bytes(refusal.response().body) + b"\n\n"
        yield b"data: [DONE]\n\n"


async def _chunks(serving: Serving, asked: Asked, adapter: Any) -> AsyncIterator[dict[str, Any]]:
    head, offsets = asked.answer([], chunk=True), [0] * len(asked.tokens)
    pieces = engine_requests.stream(
        serving.engine, asked.tokens, asked.params, account=asked.account, adapter=adapter, grammar=asked.grammar
    )
    async for each in pieces:
        if isinstance(each, tuple):
            index, text, scores = each
            logprobs = logprobs_of(
                serving.engine, asked.params, scores, text, start=offsets[index], is_chat=asked.is_chat
            )
            offsets[index] += len(text)
            yield {**head, "choices": [_piece(asked, index, text, None, logprobs)]}
            continue
        for index, answer in enumerate(each):
            yield {**head, "choices": [_piece(asked, index, "", answer.finish_reason)]}
        if request_bodies.wants_usage(asked.body):
            count = sum(answer.token_count for answer in each)
            yield {**head, "choices": [], "usage": usage(asked.prompt_tokens, count)}


def _piece(
    asked: Asked, index: int, text: str, finish_reason: str | None, logprobs: dict[str, Any] | None = None
) -> dict[str, Any]:
    said = {"delta": {"content": text}} if asked.is_chat else {"text": text}
    return {"index": index, **said, "logprobs": logprobs, "finish_reason": finish_reason}


def _whole(serving: Serving, asked: Asked, answers: list[Answer]) -> bytes:
    choices = [_choice(serving, asked, index, answer) for index, answer in enumerate(answers)]
    count = sum(answer.token_count for answer in answers)
    answer = {**asked.answer(choices), "usage": usage(asked.prompt_tokens, count)}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _choice(serving: Serving, asked: Asked, index: int, answer: Answer) -> dict[str, Any]:
    ends: dict[str, Any] = {"index": index, "finish_reason": answer.finish_reason}
    if asked.returns_tokens:
        ends["token_ids"] = [score.token for score in answer.scores]
    if asked.is_chat:
        message = {"role": "assistant", "content": answer.text}
        return {
            **ends,
            "message": message,
            "logprobs": logprobs_of(serving.engine, asked.params, answer.scores, is_chat=True),
        }
    echo = asked.texts[index] if asked.texts is not None and _echoes(asked.params) else ""
    prompt = list(zip(asked.tokens[index], answer.prompt_scores, strict=bool(answer.prompt_scores)))
    text = echo + answer.text
    logprobs = logprobs_of(serving.engine, asked.params, answer.scores, text, prompt=prompt)
    return {**ends, "text": text, "logprobs": logprobs}


def _echoes(params: SamplingParams) -> bool:
    return params.extras is not None and params.extras.echo


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


async def chat_tokens(
    serving: Serving, account: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
) -> list[int]:
    """Raises ApiError 400 for what the model's template does not take."""
    try:
        return await serving.texts.chat(account, messages, tools)
    except ChatRefused as error:
        raise ApiError(400, str(error), param="messages") from error


async def _compile(serving: Serving, account: str, kind: Literal["regex", "grammar"], text: str) -> LLMatcher:
    from anneal_runtime.server.decoding.grammar import BadGrammar, Source

    assert serving.engine.generator is not None
    grammars, source = serving.engine.generator.grammars, Source(kind, text)
    if (known := grammars.find(source)) is not None:
        return known
    try:
        return await serving.compiling.run(account, grammars.compile, source, account)
    except BadGrammar as error:
        raise ApiError(400, str(error), param="structured_outputs") from error


def _forget(serving: Serving, asked: Asked) -> None:
    assert serving.engine.generator is not None
    if asked.grammar is not None:
        serving.engine.generator.grammars.forget(asked.grammar)


def _check_room(prompts: list[list[int]], context_length: int) -> None:
    for index, prompt in enumerate(prompts):
        if len(prompt) >= context_length:
            message = (
                f"This model's maximum context length is {context_length} tokens, and at least one is for the answer. "
                f"The prompt at position {index} has at least {len(prompt)} tokens."
            )
            raise ApiError(400, message, param="prompt", index=index)


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
