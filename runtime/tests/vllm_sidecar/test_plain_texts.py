"""Special tokens in users' texts, before a vLLM of recorded shapes."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.support.client import Client
from server.support.running import REPOSITORY
from server.support.server_reports import ServerReports
from support.until import until
from vllm_sidecar.fake_vllm import FakeVllm
from vllm_sidecar.test_sidecar import MODEL, TOKEN, Agent

from anneal_runtime import exit_codes
from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.row_preview import Preview
from anneal_runtime.tokenization import TextEncoder

TINY = REPOSITORY / "models/anneal-tiny"
ENCODER = TextEncoder(load_tokenizer(TINY))


@pytest.fixture(scope="module")
def vllm() -> Iterator[FakeVllm]:
    fake = FakeVllm(MODEL)
    fake.tokens_of = lambda text: ENCODER.prompts([text])[0]
    yield fake
    fake.stop()


@pytest.fixture(scope="module")
def client(vllm: FakeVllm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    anneal = ServerReports()
    agent = Agent(anneal, vllm, tmp_path_factory.mktemp("agent"), source={"path": str(TINY)})
    until(lambda: anneal.reports)
    yield Client(int(anneal.reports[0]["endpoint"].rsplit(":", 1)[1]), TOKEN)
    agent.process.send_signal(signal.SIGTERM)
    assert agent.wait()[0] == exit_codes.TERMINATED
    anneal.stop()


def asked(client: Client, vllm: FakeVllm, path: str, **body: Any) -> tuple[str, dict[str, Any]]:
    """What the last call of vLLM was."""
    status, answer = client.post(path, {"model": MODEL, "max_tokens": 4, **body})
    assert status == 200, answer
    return vllm.bodies[-1]


def user(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


def test_messages_that_spell_a_special_token_reach_vllm_as_token_ids(client: Client, vllm: FakeVllm) -> None:
    path, body = asked(client, vllm, "/v1/chat/completions", messages=user("Hi.</s>"))
    assert path == "/v1/completions" and body["prompt"] == ENCODER.chats([user("Hi.</s>")]) and "messages" not in body
    assert ENCODER.tokenizer.eos_token_id not in body["prompt"][0]


def test_rows_are_shown_by_the_tokenizer_of_the_models_files(client: Client) -> None:
    rows = ['{"input": "Hi.</s>", "output": "Ho."}']
    body = {"max_length": 50, "special_tokens": True, "shown_rows": 1, "rows": rows}
    status, answer = client.post("/agent/v1/preview-rows", body)
    assert status == 200, answer
    assert answer == {"rows": Preview.from_json(body).of(ENCODER, rows)}
    assert ENCODER.tokenizer.eos_token_id in answer["rows"][0]["sequences"][0]["shown"]["ids"][:-1]


def test_other_messages_reach_vllm_as_they_are(client: Client, vllm: FakeVllm) -> None:
    path, body = asked(client, vllm, "/v1/chat/completions", messages=user("Hi."))
    assert path == "/v1/chat/completions" and body["messages"] == user("Hi.")


def test_calls_and_their_results_are_texts_of_users_too(client: Client, vllm: FakeVllm) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "\\u003c/s>"}'}}
    talk = [*user("?"), {"role": "assistant", "content": "", "tool_calls": [call]}]
    _, body = asked(client, vllm, "/v1/chat/completions", messages=talk)
    assert ENCODER.tokenizer.eos_token_id not in body["prompt"][0]


def test_a_text_before_a_prompt_is_text_and_the_prompt_keeps_its_tokens(client: Client, vllm: FakeVllm) -> None:
    _, body = asked(client, vllm, "/v1/completions", prompt=["b</s>"], text_before=["a</s>"])
    assert body["prompt"] == ENCODER.prompts(["a</s>" + ENCODER.prompt("b</s>")]) and "text_before" not in body
    assert asked(client, vllm, "/v1/completions", prompt=["b</s>"])[1]["prompt"] == ["b</s>"]


def test_tokens_are_counted_as_they_are_read(client: Client) -> None:
    for body in ({"prompt": "b", "text_before": "a</s>"}, {"messages": user("a</s>")}):
        status, answer = client.post("/tokenize", {"model": MODEL, **body})
        assert status == 200 and answer["count"] == len(answer["tokens"]) > 4


def test_a_stream_of_such_a_chat_is_that_of_a_completion(client: Client, vllm: FakeVllm) -> None:
    path, body = asked(client, vllm, "/v1/chat/completions", messages=user("Hi.</s>"), logprobs=None)
    assert path == "/v1/completions" and "messages" not in body
    status, answer = client.post(
        "/v1/chat/completions", {"model": MODEL, "messages": user("</s>"), "logprobs": True, "max_tokens": 4}
    )
    assert status == 400 and answer["error"]["param"] == "logprobs"


@pytest.mark.parametrize("folder", [TINY, TINY / "missing"])
def test_with_another_tokenizer_or_none_texts_reach_vllm_as_they_are(tmp_path: Path, folder: Path) -> None:
    anneal, fake = ServerReports(), FakeVllm(MODEL)
    agent = Agent(anneal, fake, tmp_path, source={"path": str(folder)})
    until(lambda: anneal.reports)
    client = Client(int(anneal.reports[0]["endpoint"].rsplit(":", 1)[1]), TOKEN)
    assert asked(client, fake, "/v1/completions", prompt="b", text_before="a")[1]["prompt"] == ["ab"]
    assert asked(client, fake, "/v1/chat/completions", messages=user("</s>"))[0] == "/v1/chat/completions"
    agent.process.send_signal(signal.SIGTERM)
    code, output = agent.wait()
    assert code == exit_codes.TERMINATED and "cannot read the model's tokenizer" in output
    anneal.stop()
    fake.stop()
