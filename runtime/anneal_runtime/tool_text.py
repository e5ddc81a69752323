"""Calls of functions in the text of a conversation. A model whose chat template knows tools writes them in its own
format; any other model gets the functions, the calls and their results as text. The service has the same table of
formats (src/domain/tools/call-format.ts), so training, prompts and answers agree.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Message = dict[str, Any]


@dataclass(frozen=True)
class CallFormat:
    name: str
    trigger: str
    opening: str = ""
    before: str = ""
    after: str = ""
    between: str = ""
    closing: str = ""
    arguments_key: str = "arguments"


HERMES = CallFormat("hermes", "<tool_call>", before="<tool_call>\n", after="\n</tool_call>", between="\n")
LLAMA3 = CallFormat("llama3", '{"name": "', between="; ", arguments_key="parameters")
MISTRAL = CallFormat("mistral", "[TOOL_CALLS]", opening="[TOOL_CALLS][", between=", ", closing="]")


def native_format(template: str | None) -> CallFormat | None:
    """The format of a chat template that knows tools; None for templates that do not, or whose format is not known."""
    if not template or "tools" not in template:
        return None
    if "<tool_call>" in template:
        # Some write the arguments as XML.
        return None if "<function=" in template else HERMES
    if "[TOOL_CALLS]" in template:
        return None if "[ARGS]" in template else MISTRAL
    return LLAMA3 if '"parameters": ' in template or "<|python_tag|>" in template else None


def call_format(tokenizer: PreTrainedTokenizerBase) -> tuple[CallFormat, bool]:
    """The format in which the model writes calls, and whether its template does so."""
    native = native_format(template_of(tokenizer))
    return native or HERMES, native is not None


def template_of(tokenizer: PreTrainedTokenizerBase) -> str | None:
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("tool_use") or template.get("default")
    return cast(str | None, template)


def trigger_token(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """The special token that begins calls, which grammars cannot spell as text."""
    form, _ = call_format(tokenizer)
    token = tokenizer.get_vocab().get(form.trigger)
    return token if form.trigger in tokenizer.all_special_tokens else None


def answer_text(tokenizer: PreTrainedTokenizerBase, message: Message) -> str:
    """What the model writes for a message of the assistant."""
    return said(call_format(tokenizer)[0], message)


def prepared(
    tokenizer: PreTrainedTokenizerBase, messages: list[Message], tools: list[dict[str, Any]]
) -> tuple[list[Message], list[dict[str, Any]] | None]:
    """The messages and tools for the tokenizer's template."""
    if not tools and not any(message["role"] == "tool" or message.get("tool_calls") for message in messages):
        return messages, None
    if call_format(tokenizer)[1]:
        return [_with_objects(message) for message in in_call_order(messages)], tools or None
    return as_text(messages, tools), None


def in_call_order(messages: list[Message]) -> list[Message]:
    """The results after a message in the order of its calls, each with the name of its function. Many templates show
    neither the id of a call nor the name, so the order alone ties a result to its call.
    """
    ordered: list[Message] = []
    calls: dict[str, tuple[int, str | None]] = {}
    for are_results, run in groupby(messages, key=lambda message: message["role"] == "tool"):
        if are_results:
            ordered += sorted((_named(each, calls) for each in run), key=lambda each: _call_of(each, calls)[0])
        else:
            ordered += run
            calls = {}
            for place, call in enumerate(ordered[-1].get("tool_calls") or []):
                first, _ = calls.get(str(call.get("id")), (place, None))
                # Two calls with one id cannot be told apart.
                calls[str(call.get("id"))] = first, call["function"]["name"] if first == place else None
    return ordered


def _named(result: Message, calls: dict[str, tuple[int, str | None]]) -> Message:
    _, name = _call_of(result, calls)
    return result if name is None or "name" in result else {**result, "name": name}


def _call_of(result: Message, calls: dict[str, tuple[int, str | None]]) -> tuple[int, str | None]:
    """The place of the call that the result answers, and its function. A result of no call comes last."""
    return calls.get(str(result.get("tool_call_id")), (len(calls), None))


def as_text(messages: list[Message], tools: list[dict[str, Any]]) -> list[Message]:
    """The same conversation for a template that knows no tools."""
    plain: list[Message] = []
    for message in in_call_order(messages):
        if message["role"] == "tool":
            result = f"<tool_response>\n{message['content']}\n</tool_response>"
            if plain and plain[-1]["role"] == "user" and plain[-1]["content"].endswith("</tool_response>"):
                # Many templates take no two messages of the user in a row.
                plain[-1] = {"role": "user", "content": f"{plain[-1]['content']}\n{result}"}
            else:
                plain.append({"role": "user", "content": result})
        else:
            plain.append({"role": message["role"], "content": said(HERMES, message)})
    if not tools:
        return plain
    first = plain[0] if plain and plain[0]["role"] == "system" else None
    described = describe(tools) if first is None else f"{first['content']}\n\n{describe(tools)}"
    return [{"role": "system", "content": described}, *(plain if first is None else plain[1:])]


def describe(tools: list[dict[str, Any]]) -> str:
    functions = "\n".join(_json(tool["function"]) for tool in tools)
    call = f'{HERMES.before}{{"name": "...", "arguments": {{...}}}}{HERMES.after}'
    return f"Functions that you can call:\n{functions}\nTo call one, answer with:\n{call}"


def said(form: CallFormat, message: Message) -> str:
    calls = message.get("tool_calls") or []
    if not calls:
        return str(message["content"])
    written = [
        f'{form.before}{{"name": "{call["function"]["name"]}", "{form.arguments_key}": '
        f"{_json(json.loads(call['function']['arguments']))}}}{form.after}"
        for call in calls
    ]
    text = message["content"]
    return f"{text}{chr(10) if text else ''}{form.opening}{form.between.join(written)}{form.closing}"


def read_calls(tokenizer: PreTrainedTokenizerBase, answer: str) -> tuple[str, list[Message]]:
    """The text before the calls of an answer, and the calls that are whole. Without any, all of it is text."""
    form, _ = call_format(tokenizer)
    start, calls = answer.find(form.trigger), list[Message]()
    if start < 0 or (form is LLAMA3 and start > 0):
        return answer, []
    head, at = re.compile(rf'\{{"name": "([\w-]+)", "{form.arguments_key}": (?=\{{)'), start
    while (found := head.search(answer, at)) is not None:
        try:
            _, at = json.JSONDecoder().raw_decode(answer, found.end())
        except ValueError:
            break
        function = {"name": found.group(1), "arguments": answer[found.end() : at]}
        calls.append({"id": f"call_{len(calls)}", "type": "function", "function": function})
    return (answer[:start], calls) if calls else (answer, [])


def finish_reason(reason: str, calls: list[Message]) -> str:
    """As the API says it. `reason` is the sampler's."""
    return "tool_calls" if calls and reason == "stop" else reason


def _with_objects(message: Message) -> Message:
    """Templates take the arguments as an object."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    objects = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in calls
    ]
    return {**message, "tool_calls": objects}


def _json(value: object) -> str:
    """As the grammar of an answer has it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
