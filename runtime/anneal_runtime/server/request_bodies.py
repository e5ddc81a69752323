"""Request bodies: read up to a limit, parsed off the event loop when large, and checked field by field."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal, cast

from starlette.requests import ClientDisconnect, Request

from anneal_runtime.row_preview import Preview
from anneal_runtime.server.decoding.rows import SamplingParams
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.request_extras import extras
from anneal_runtime.server.request_numbers import number
from anneal_runtime.server.text_threads import TextPrompt

MAX_BODY_BYTES = 128 << 20
LARGE_BYTES = 256 << 10
MAX_STOPS = 64
# Parameters of vLLM that this engine lacks, with the values that change nothing; other values are refused.
UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "n": (None, 1),
    "best_of": (None, 1),
    "suffix": (None, ""),
}


async def read_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises ApiError 400 or 413."""
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise ApiError(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
    except ClientDisconnect as error:
        raise ApiError(400, "The client went away.") from error
    raw = b"".join(chunks)
    try:
        body = await asyncio.to_thread(json.loads, raw) if size > LARGE_BYTES else json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "The body is not JSON.") from error
    if not isinstance(body, dict):
        raise ApiError(400, "The body must be a JSON object.")
    return body


def texts(body: dict[str, Any], field: str) -> list[str]:
    """A string or a list of strings, as a list."""
    value = body.get(field)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise ApiError(400, f"{field} must be a string or a list of strings.", param=field)
    for index, text in enumerate(values):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ApiError(400, f"{field} is not valid Unicode.", param=field, index=index) from error
    return cast(list[str], values)


def previewed_rows(body: dict[str, Any]) -> tuple[Preview, list[str]]:
    try:
        return Preview.from_json(body), texts(body, "rows")
    except (KeyError, TypeError, ValueError) as error:
        raise ApiError(400, f"The rows cannot be shown: {error}") from error


def prompts(body: dict[str, Any]) -> list[TextPrompt]:
    """`text_before` is ours: a text before each prompt, in which special tokens do not act."""
    found = texts(body, "prompt")
    before = texts(body, "text_before") if body.get("text_before") is not None else [""] * len(found)
    if len(before) != len(found):
        raise ApiError(400, "text_before must have a text for each prompt.", param="text_before")
    return [TextPrompt(*each) for each in zip(found, before, strict=True)]


def text_length(body: dict[str, Any], context_length: int) -> tuple[int, bool]:
    """The most tokens that a text to embed may have, and whether a longer one is cut to the model's context.

    vLLM's `truncate_prompt_tokens` of -1 asks for the cut; `max_input_tokens` is ours.
    """
    cut = body.get("truncate_prompt_tokens")
    if cut not in (None, -1):
        raise ApiError(400, "truncate_prompt_tokens must be -1.", param="truncate_prompt_tokens")
    most = number(body, "max_input_tokens", context_length, low=1, high=1 << 31, whole=True)
    return int(most), cut is not None


def string(body: dict[str, Any], field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise ApiError(400, f"{field} must be a string.", param=field)
    return value


def messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, of text and calls of functions. The model's chat template checks the roles."""
    value = body.get("messages")
    if not isinstance(value, list) or not value:
        raise ApiError(400, "messages must be a list of at least one message.", param="messages")
    for message in value:
        if not isinstance(message, dict) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
            raise ApiError(400, "A message must have a role and a content, both text.", param="messages")
        texts({"messages": message["content"]}, "messages")
    return [
        {"role": message["role"], "content": message["content"], **_calls(message)}
        for message in cast(list[dict[str, Any]], value)
    ]


def _calls(message: dict[str, Any]) -> dict[str, Any]:
    """The calls of a message, whose arguments are JSON objects, and the call that it answers."""
    calls = message.get("tool_calls")
    try:
        for call in calls or []:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            if not isinstance(name, str) or not isinstance(json.loads(arguments), dict):
                raise TypeError("a call")
            texts({"messages": arguments}, "messages")
    except (KeyError, TypeError, ValueError) as error:
        message_text = "A call must have a function with a name and with arguments, a JSON object."
        raise ApiError(400, message_text, param="messages") from error
    answered = {"tool_call_id": message["tool_call_id"]} if isinstance(message.get("tool_call_id"), str) else {}
    return {**({"tool_calls": calls} if calls else {}), **answered}


def tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions that the model may call."""
    value = body.get("tools") or []
    named = isinstance(value, list) and all(
        isinstance(tool, dict)
        and isinstance(tool.get("function"), dict)
        and isinstance(tool["function"].get("name"), str)
        for tool in value
    )
    if not named:
        raise ApiError(400, 'tools must be a list of {"type": "function", "function": {...}}.', param="tools")
    return cast(list[dict[str, Any]], value)


def wants_usage(body: dict[str, Any]) -> bool:
    """True if the stream must end with its token counts."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def sampling_params(body: dict[str, Any]) -> SamplingParams:
    """With vLLM's defaults: 16 tokens at temperature 1."""
    for field, nothing in UNSUPPORTED.items():
        if body.get(field) not in nothing:
            raise ApiError(400, f"{field} is not supported by this server.", param=field)
    # A prompt that is only to be echoed needs no answer.
    least = 0 if body.get("echo") is True else 1
    return SamplingParams(
        max_tokens=int(number(body, "max_tokens", 16, low=least, high=1 << 31, whole=True)),
        temperature=number(body, "temperature", 1.0, low=0, high=100),
        top_p=number(body, "top_p", 1.0, low=1e-9, high=1),
        seed=None if body.get("seed") is None else int(number(body, "seed", 0, low=-(2**63), high=2**63, whole=True)),
        stop=_stops(body.get("stop")),
        extras=extras(body),
    )


def grammar(body: dict[str, Any]) -> tuple[Literal["regex", "grammar"], str] | None:
    wanted = body.get("structured_outputs")
    if wanted is None:
        return None
    (kind, text), *more = wanted.items() if isinstance(wanted, dict) and wanted else [("", None)]
    if more or kind not in ("regex", "grammar") or not isinstance(text, str):
        message = 'structured_outputs must be {"regex": "..."} or {"grammar": "..."}: this server knows no other kind.'
        raise ApiError(400, message, param="structured_outputs")
    return cast(Literal["regex", "grammar"], kind), text


def _stops(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops) or len(stops) > MAX_STOPS:
        raise ApiError(400, f"stop must be a string or a list of at most {MAX_STOPS} strings.", param="stop")
    return tuple(stop for stop in stops if stop)
