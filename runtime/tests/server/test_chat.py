"""Conversations by the model's own template, and answers that are sent as they are decoded."""

import copy
import dataclasses
import http.client
import json
from pathlib import Path
from typing import Any

import pytest
from server.support.running import RunningServer, open_to_clients
from support.until import PATIENCE_S, until

QUESTION = "What is the colour of Anna?"
MESSAGES = [{"role": "system", "content": "Anna is a cat."}, {"role": "user", "content": QUESTION}]


def chat(server: RunningServer, messages: Any = MESSAGES, **options: Any) -> tuple[int, Any]:
    body = {"model": "anneal-tiny", "messages": messages, "temperature": 0, "max_tokens": 24, **options}
    return server.client.post("/v1/chat/completions", body)


def stream(server: RunningServer, path: str, **body: Any) -> list[dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.client.port, timeout=PATIENCE_S)
    content = json.dumps({"model": "anneal-tiny", "temperature": 0, "stream": True, **body})
    connection.request("POST", path, content, {"Authorization": f"Bearer {server.client.token}"})
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
    events = [line.removeprefix("data: ") for line in response.read().decode().split("\n\n") if line]
    connection.close()
    assert events.pop() == "[DONE]"
    return [json.loads(event) for event in events]


def test_a_conversation_is_read_by_the_models_template(tiny: RunningServer) -> None:
    status, answer = chat(tiny)
    choice = answer["choices"][0]
    # The tokenizer's own start token is the template's.
    prompt = f"Anna is a cat.\nQuestion: {QUESTION}\nAnswer: "
    assert (status, choice["message"]["role"]) == (200, "assistant")
    assert choice["message"]["content"] == tiny.client.texts(prompt, max_tokens=24)[0]
    _, counted = tiny.client.post("/tokenize", {"model": "anneal-tiny", "messages": MESSAGES})
    _, of_text = tiny.client.post("/tokenize", {"model": "anneal-tiny", "prompt": prompt})
    assert counted["tokens"] == of_text["tokens"]
    assert answer["usage"]["prompt_tokens"] == counted["count"]


@pytest.mark.parametrize("messages", [[], "hello", [{"role": "user"}], [{"role": "user", "content": 7}], [7]])
def test_refuses_messages_that_are_no_conversation(tiny: RunningServer, messages: Any) -> None:
    status, answer = chat(tiny, messages)
    assert (status, answer["error"]["param"]) == (400, "messages")


def test_a_model_without_a_template_says_so(tiny: RunningServer, tmp_path: Path) -> None:
    tokenizer = copy.deepcopy(tiny.engine.tokenizer)
    tokenizer.chat_template = None
    engine = dataclasses.replace(tiny.engine, tokenizer=tokenizer)
    status, answer = chat(open_to_clients(engine, tiny.metrics, tmp_path))
    assert (status, answer["error"]["param"]) == (400, "messages") and "no chat template" in answer["error"]["message"]


def test_a_stream_has_the_text_of_the_whole_answer_in_many_pieces(tiny: RunningServer) -> None:
    (whole,) = tiny.client.complete("a", max_tokens=40)
    options = {"include_usage": True}
    *chunks, last, usage = stream(tiny, "/v1/completions", prompt="a", max_tokens=40, stream_options=options)
    pieces = [chunk["choices"][0]["text"] for chunk in chunks]
    assert "".join(pieces) == whole["text"] and len(pieces) > 10
    assert last["choices"][0]["finish_reason"] == whole["finish_reason"]
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] > 20


def test_a_stream_never_shows_what_a_stop_takes_back(tiny: RunningServer) -> None:
    options = {"max_tokens": 40, "stop": ["never", "\nClara"]}
    (whole,) = tiny.client.complete("a", **options)
    chunks = stream(tiny, "/v1/completions", prompt="a", **options)
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole["text"]


def test_a_conversation_is_streamed_alike(tiny: RunningServer) -> None:
    _, whole = chat(tiny)
    chunks = stream(tiny, "/v1/chat/completions", messages=MESSAGES, max_tokens=24)
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_refuses_a_request_before_its_stream_begins(tiny: RunningServer) -> None:
    body = {"model": "anneal-tiny", "prompt": "word " * 2000, "stream": True}
    assert tiny.client.post("/v1/completions", body)[0] == 400
    assert tiny.client.post("/v1/completions", {**body, "model": "none"})[0] == 404


def test_a_client_that_leaves_a_stream_stops_its_work(tiny: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", tiny.client.port, timeout=PATIENCE_S)
    # 900 characters, none of them forced: hundreds of passes, which do not end before the client leaves.
    endless = {"structured_outputs": {"regex": "[ab]{900}"}, "max_tokens": 1000, "temperature": 0.0}
    body = {"model": "anneal-tiny", "prompt": "a", "stream": True, **endless}
    finished_tokens = tiny.gauge("generated_tokens_total")
    connection.request("POST", "/v1/completions", json.dumps(body), {"Authorization": f"Bearer {tiny.client.token}"})
    connection.getresponse().read(1)
    connection.close()
    until(lambda: tiny.gauge("running_rows") == 0)
    assert tiny.gauge("generated_tokens_total") == finished_tokens, "only finished answers are counted"
