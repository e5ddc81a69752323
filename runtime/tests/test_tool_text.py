import json
from typing import Any, cast

import pytest
from server.support.running import REPOSITORY
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from anneal_runtime import tool_text
from anneal_runtime.tokenization import TextEncoder

CALL = {"id": "call_1", "type": "function", "function": {"name": "stock", "arguments": '{"item": "lamp", "at": [1]}'}}
TOOL = {"type": "function", "function": {"name": "stock", "parameters": {"type": "object", "properties": {}}}}
TALK: list[tool_text.Message] = [
    {"role": "user", "content": "How many lamps?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]},
    {"role": "tool", "content": "7", "tool_call_id": "call_1"},
    {"role": "tool", "content": "8", "tool_call_id": "call_1"},
]


# The parts of real templates that tell their format.
@pytest.mark.parametrize(
    ("template", "name"),
    [
        ('{% for tool in tools %}...<tool_call>\\n{"name": <function-name>', "hermes"),
        ('{%- if tools_in_user_message %}{"name": function name, "parameters": dictionary}<|python_tag|>', "llama3"),
        ("{%- if tools %}[AVAILABLE_TOOLS]...[TOOL_CALLS]", "mistral"),
        ("{%- if tools %}<tool_call>\\n<function=example>", None),
        ("{%- if tools %}[TOOL_CALLS]name[ARGS]", None),
        ("{{ messages }}", None),
        (None, None),
    ],
)
def test_the_format_is_told_by_the_template(template: str | None, name: str | None) -> None:
    form = tool_text.native_format(template)
    assert (form and form.name) == name


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (tool_text.HERMES, '<tool_call>\n{"name": "stock", "arguments": ARGS}\n</tool_call>'),
        (tool_text.LLAMA3, '{"name": "stock", "parameters": ARGS}'),
        (tool_text.MISTRAL, '[TOOL_CALLS][{"name": "stock", "arguments": ARGS}]'),
    ],
)
def test_a_call_is_written_in_the_format(form: tool_text.CallFormat, text: str) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert tool_text.said(form, message) == text.replace("ARGS", '{"item":"lamp","at":[1]}')


@pytest.mark.parametrize(
    ("template", "text", "spoken", "names"),
    [
        ("tools <tool_call>", 'Wait.<tool_call>\n{"name": "a", "arguments": {"x": "}"}}\n</tool_call>', "Wait.", ["a"]),
        (
            "tools [TOOL_CALLS]",
            '[TOOL_CALLS][{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]',
            "",
            "ab",
        ),
        ("tools <|python_tag|>", '{"name": "a", "parameters": {}}; {"name": "b", "parameters": {}}', "", "ab"),
        ("tools <|python_tag|>", 'I say {"name": "a", "parameters": {}}', 'I say {"name": "a", "parameters": {}}', ""),
        # A call that was cut off, or is none.
        (None, '<tool_call>\n{"name": "a", "arguments": {"x"', '<tool_call>\n{"name": "a", "arguments": {"x"', ""),
        (None, "<tool_call> none", "<tool_call> none", ""),
    ],
)
def test_calls_are_read_from_an_answer(
    tokenizer: PreTrainedTokenizerBase, template: str | None, text: str, spoken: str, names: str
) -> None:
    tokenizer.chat_template = template
    said, calls = tool_text.read_calls(tokenizer, text)
    assert said == spoken and [call["function"]["name"] for call in calls] == list(names)
    assert all(json.loads(call["function"]["arguments"]) in ({}, {"x": "}"}) for call in calls)


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerBase:
    return cast(PreTrainedTokenizerBase, AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny"))


def test_a_template_without_tools_gets_them_as_text(tokenizer: PreTrainedTokenizerBase) -> None:
    encoder = TextEncoder(tokenizer)
    text = encoder.chat_text(TALK, [TOOL])
    said = '{"name": "stock", "arguments": {"item":"lamp","at":[1]}}'
    assert json.dumps(TOOL["function"], separators=(",", ":")) in text
    assert text.count(f"<tool_call>\n{said}\n</tool_call>") == 2
    assert "<tool_response>\n7\n</tool_response>\n<tool_response>\n8\n</tool_response>" in text
    assert encoder.chat_text(TALK[:1]) == encoder.chat_text(TALK[:1], [])


def test_a_template_with_tools_gets_them_as_they_are(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = (
        "{% for tool in tools %}[{{ tool.function.name }}]{% endfor %}{% for m in messages %}{{ m.role }}:"
        "{% for call in m.tool_calls or [] %}<tool_call>{{ call.function.arguments.item }}{% endfor %}{{ m.content }};"
        "{% endfor %}"
    )
    assert TextEncoder(tokenizer).chat_text(TALK, [TOOL]) == (
        "[stock]user:How many lamps?;assistant:<tool_call>lamp<tool_call>lamp;tool:7;tool:8;"
    )
    assert tool_text.call_format(tokenizer) == (tool_text.HERMES, True)


def test_a_system_message_keeps_its_words() -> None:
    talk: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, *TALK[:1]]
    (system, user) = tool_text.as_text(talk, [TOOL])
    assert system["content"].startswith("Be brief.\n") and "stock" in system["content"]
    assert user == TALK[0]


def test_results_stand_in_the_order_of_their_calls_with_the_names_of_their_functions() -> None:
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("weather", "clock", "stock")
    ]
    results = [
        {"role": "tool", "content": f"of {name}", "tool_call_id": name}
        for name in ("lost", "stock", "clock", "weather")
    ]
    user, asked = {"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": calls}
    talk = [user, asked, *results, {"role": "assistant", "content": "So."}, results[0]]
    ordered = tool_text.in_call_order(talk)
    assert [each["content"] for each in ordered[2:]] == [
        "of weather",
        "of clock",
        "of stock",
        "of lost",
        "So.",
        "of lost",
    ]
    assert [each.get("name") for each in ordered[2:6]] == ["weather", "clock", "stock", None]
    # Two calls with one id cannot be told apart.
    twins = [{**call, "id": "x"} for call in calls]
    answers = [{"role": "tool", "content": text, "tool_call_id": "x"} for text in ("b", "a")]
    assert tool_text.in_call_order([{**asked, "tool_calls": twins}, *answers])[1:] == answers
