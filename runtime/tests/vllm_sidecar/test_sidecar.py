"""The agent before a vLLM of recorded shapes: the wire, never a GPU."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.support.client import Client
from server.support.file_host import FileHost
from server.support.lora_files import ReferenceAdapters
from server.support.running import REPOSITORY
from server.support.server_reports import ServerReports
from support.until import PATIENCE_S, until
from vllm_sidecar.fake_vllm import FakeVllm

from anneal_runtime import exit_codes
from anneal_runtime.vllm_sidecar.version_probe import NEWEST

MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
TOKEN = "a-server-token"


class Agent:
    def __init__(self, anneal: ServerReports, vllm: FakeVllm, work_dir: Path, **spec: Any) -> None:
        settings = {
            "ANNEAL_INTERNAL_URL": anneal.url,
            "ANNEAL_TOKEN": TOKEN,
            "ANNEAL_WORK_DIR": str(work_dir),
            "ANNEAL_INSTANCE": "pod-1",
            "ANNEAL_ENGINE_URL": vllm.url,
            "ANNEAL_SERVER_SPEC": json.dumps(
                {"name": MODEL, "engine": "vllm", "source": {"hub": MODEL}, "max_adapters": 2, **spec}
            ),
            "PYTHONPATH": str(REPOSITORY / "runtime"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anneal_runtime.server"],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait(self) -> tuple[int, str]:
        output, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileHost]:
    with FileHost(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> ReferenceAdapters:
    return ReferenceAdapters(REPOSITORY / "models/anneal-tiny", tmp_path_factory.mktemp("lora"))


@pytest.fixture
def vllm() -> Iterator[FakeVllm]:
    fake = FakeVllm(MODEL)
    yield fake
    fake.stop()


@pytest.fixture
def anneal() -> Iterator[ServerReports]:
    reports = ServerReports()
    yield reports
    reports.stop()


@pytest.fixture
def client(anneal: ServerReports, vllm: FakeVllm, tmp_path: Path) -> Iterator[Client]:
    agent = Agent(anneal, vllm, tmp_path)
    until(lambda: anneal.reports)
    yield Client(int(anneal.reports[0]["endpoint"].rsplit(":", 1)[1]), TOKEN)
    agent.process.send_signal(signal.SIGTERM)
    assert agent.wait()[0] == exit_codes.TERMINATED


def complete(client: Client, prompt: Any, **more: Any) -> tuple[int, Any]:
    return client.post("/v1/completions", {"model": MODEL, "prompt": prompt, "max_tokens": 8, **more})


def test_starts_without_torch() -> None:
    """Torch takes seconds to import and the memory of a small model."""
    program = "import sys, anneal_runtime.server.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY / "runtime").returncode == 0


def test_waits_for_vllm_then_tries_a_typed_answer_and_reports(
    anneal: ServerReports, vllm: FakeVllm, tmp_path: Path
) -> None:
    vllm.healthy = False
    agent = Agent(anneal, vllm, tmp_path)
    until(lambda: vllm.bodies)
    assert anneal.reports == []
    vllm.healthy = True
    until(lambda: anneal.reports)
    report = anneal.reports[0]
    assert (report["path"], report["engine"], report["instance"]) == ("/internal/v1/server/ready", "vllm", "pod-1")
    assert any(path == "/v1/completions" and "structured_outputs" in body for path, body in vllm.bodies)
    agent.process.terminate()
    assert agent.wait()[0] == exit_codes.TERMINATED
    assert anneal.reports[-1]["path"] == "/internal/v1/server/leaving"


@pytest.mark.parametrize("version", ["0.11.2", f"0.{NEWEST[1] + 1}.0", "1.0", "dev"])
def test_refuses_an_unknown_version_of_vllm(anneal: ServerReports, tmp_path: Path, version: str) -> None:
    vllm = FakeVllm(MODEL, version)
    code, output = Agent(anneal, vllm, tmp_path).wait()
    vllm.stop()
    assert code == exit_codes.UNSUPPORTED_RUNTIME
    assert f"vLLM {version} is not supported: run 0.12 to" in output
    assert anneal.reports == []


def test_a_vllm_that_does_not_hold_to_grammars_or_serves_another_model_is_refused(
    anneal: ServerReports, vllm: FakeVllm, tmp_path: Path
) -> None:
    vllm.ignores_grammar = True
    assert Agent(anneal, vllm, tmp_path).wait()[0] == exit_codes.UNSUPPORTED_RUNTIME
    vllm.ignores_grammar, vllm.backend = False, "xgrammar"
    code, output = Agent(anneal, vllm, tmp_path).wait()
    assert code == exit_codes.UNSUPPORTED_RUNTIME and "--structured-outputs-config.backend guidance" in output
    code, output = Agent(anneal, FakeVllm("other"), tmp_path).wait()
    assert code == exit_codes.UNSUPPORTED_RUNTIME and f"--served-model-name {MODEL}" in output
    assert anneal.reports == []


@pytest.mark.parametrize("path,status", [("/version", 503), ("/v1/models", 429), ("/v1/completions", 500)])
def test_a_failing_vllm_is_not_taken_for_an_unknown_version(
    anneal: ServerReports, vllm: FakeVllm, tmp_path: Path, path: str, status: int
) -> None:
    vllm.fails[path] = status
    assert Agent(anneal, vllm, tmp_path).wait()[0] == exit_codes.CODE_ERROR
    assert anneal.reports == []


def test_ends_when_vllm_ends(anneal: ServerReports, vllm: FakeVllm, tmp_path: Path) -> None:
    agent = Agent(anneal, vllm, tmp_path)
    until(lambda: anneal.reports)
    vllm.healthy = False
    assert agent.wait()[0] == exit_codes.CODE_ERROR


def test_answers_come_at_their_prompts_positions_and_only_with_the_token(client: Client) -> None:
    status, answer = complete(client, ["a", "b", "c"])
    assert status == 200
    assert [each["index"] for each in answer["choices"]] == [0, 1, 2]
    assert [each["text"] for each in answer["choices"]] == [f"{MODEL} says {prompt} in 8" for prompt in "abc"]
    assert Client(client.port, "wrong").post("/v1/completions", {"model": MODEL, "prompt": "a"})[0] == 401


def test_an_answer_is_cut_to_the_room_that_its_prompt_leaves(client: Client, vllm: FakeVllm) -> None:
    long = " ".join(["word"] * 60)
    status, answer = complete(client, ["short", long, "brief"])
    assert status == 200, answer
    assert [each["text"].rsplit(" ", 1)[1] for each in answer["choices"]] == ["8", "4", "8"]
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 6}
    counted = [body["prompt"] for path, body in vllm.bodies if path == "/tokenize"]
    assert counted == [long], "what surely fits is not counted"


def test_a_prompt_that_leaves_no_room_is_named_by_its_position(client: Client) -> None:
    status, answer = complete(client, ["short", " ".join(["word"] * 64)])
    assert status == 400
    assert (answer["error"]["param"], answer["error"]["index"]) == ("prompt", 1)


def test_vllm_gets_token_ids_penalties_and_log_probabilities_as_they_came(client: Client, vllm: FakeVllm) -> None:
    asked = {
        "presence_penalty": 0.5,
        "frequency_penalty": -1,
        "repetition_penalty": 1.1,
        "logit_bias": {"5": 1},
        "top_k": 40,
        "min_p": 0.05,
        "include_stop_str_in_output": True,
        "logprobs": 1,
        "echo": True,
        "max_tokens": 0,
    }
    assert complete(client, [[5, 6], [7]], **asked)[0] == 200
    path, body = vllm.bodies[-1]
    assert (path, body["prompt"]) == ("/v1/completions", [[5, 6], [7]])
    assert {name: body[name] for name in asked} == asked
    status, answer = complete(client, [[5], list(range(2000))])
    assert (status, answer["error"]["param"], answer["error"]["index"]) == (400, "prompt", 1)


def test_a_sampled_answer_keeps_its_seed_and_the_log_probabilities_that_vllm_knows(
    client: Client, vllm: FakeVllm
) -> None:
    asked = {"seed": 2**63 - 1, "logprobs": 0, "return_token_ids": True, "top_k": -1}
    assert complete(client, [[5, 6]], **asked)[0] == 200
    assert {name: vllm.bodies[-1][1][name] for name in asked} == asked
    at_temperature = {**asked, "logprobs_at_temperature": True}
    assert complete(client, [[5, 6]], temperature=1, **at_temperature)[0] == 200
    status, answer = complete(client, [[5, 6]], temperature=0.9, **at_temperature)
    assert (status, answer["error"]["param"]) == (400, "logprobs_at_temperature")
    status, answer = complete(client, [[5, 6]], **asked, logprobs_restricted=True)
    assert (status, answer["error"]["param"]) == (400, "logprobs_restricted")


def test_chunked_answers_are_read_whole(client: Client, vllm: FakeVllm) -> None:
    vllm.chunked = True
    assert complete(client, "a")[1]["choices"][0]["text"] == f"{MODEL} says a in 8"
    assert client.post("/v1/embeddings", {"model": MODEL, "input": ["a", "b"]})[1]["data"][1]["embedding"] == [1.0]
    assert client.post("/tokenize", {"model": MODEL, "prompt": "a b c"})[1]["count"] == 3


def chat(client: Client, content: str, **more: Any) -> tuple[int, Any]:
    messages = [{"role": more.pop("role", "user"), "content": content}]
    return client.post("/v1/chat/completions", {"model": MODEL, "messages": messages, "max_tokens": 8, **more})


def test_a_conversation_is_passed_on_with_the_room_that_it_leaves(client: Client) -> None:
    assert chat(client, "hello")[1]["choices"][0]["message"]["content"] == "hello in 8"
    long = " ".join(["word"] * 60)
    assert chat(client, long)[1]["choices"][0]["message"]["content"].endswith(" in 4")
    assert chat(client, " ".join(["word"] * 64))[1]["error"]["param"] == "prompt"
    assert chat(client, "hello", role="robot")[0] == 400


def test_functions_and_their_results_reach_vllm_as_text(client: Client) -> None:
    tool = {"type": "function", "function": {"name": "stock", "parameters": {}}}
    answered = chat(client, "7", role="tool", tools=[tool])
    assert answered[1]["choices"][0]["message"]["content"] == "<tool_response>\n7\n</ in 8"
    assert client.post("/agent/v1/call-format", {})[1] == {"name": "hermes", "token": None}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_stream_is_passed_on_as_it_comes(client: Client, vllm: FakeVllm, chunked: bool) -> None:
    vllm.chunked = chunked
    status, text = chat(client, "hello", stream=True)
    events = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    assert (status, events[-1]) == (200, "[DONE]")
    pieces = [json.loads(event)["choices"] for event in events[:-2]]
    assert [choice["delta"]["content"] for [choice] in pieces] == ["hello", "in", "8"]
    assert chat(client, "hello", stream=True, role="robot")[0] == 400
    assert client.post("/v1/completions", {"model": MODEL, "prompt": ["a", "b"], "stream": True})[0] == 400


def test_a_client_that_leaves_takes_its_work_along(client: Client, vllm: FakeVllm) -> None:
    vllm.hold.clear()
    body = json.dumps({"model": MODEL, "prompt": "a", "max_tokens": 8}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE_S)
    connection.request("POST", "/v1/completions", body, {"Authorization": f"Bearer {TOKEN}"})
    assert vllm.held.wait(20), "it has reached vLLM"
    connection.close()
    assert vllm.left.wait(20), "vLLM's connection was closed"


def test_an_adapter_is_fetched_checked_loaded_and_tried_and_makes_room(
    client: Client, vllm: FakeVllm, host: FileHost, reference: ReferenceAdapters
) -> None:
    good = host.publish("good", reference.make(21)[1])
    names = ["first", "second", "third"]
    for name in names:
        assert client.call("PUT", f"/agent/v1/adapters/{name}", {"files": good})[0] == 200
    assert list(vllm.adapters) == ["second", "third"], "two places"
    assert complete(client, "a", model="third")[1]["choices"][0]["text"].startswith("third says a")
    assert complete(client, "a", model="first")[0] == 404
    tried = [body["model"] for path, body in vllm.bodies if path == "/v1/completions"]
    assert all(name in tried for name in names)
    assert client.call("DELETE", "/agent/v1/adapters/third")[0] == 200
    assert list(vllm.adapters) == ["second"]


@pytest.mark.parametrize("path", ["/v1/load_lora_adapter", "/v1/completions"])
def test_a_vllm_that_fails_for_now_does_not_refuse_the_adapter(
    client: Client, vllm: FakeVllm, host: FileHost, reference: ReferenceAdapters, path: str
) -> None:
    good = host.publish("later", reference.make(23)[1])
    vllm.fails[path] = 500
    assert client.call("PUT", "/agent/v1/adapters/later", {"files": good})[0] == 503
    assert vllm.adapters == {}
    vllm.fails.clear()
    assert client.call("PUT", "/agent/v1/adapters/later", {"files": good})[0] == 200


def test_an_unsound_adapter_never_reaches_vllm(
    client: Client, vllm: FakeVllm, host: FileHost, reference: ReferenceAdapters
) -> None:
    files = reference.make(22)[1]
    weights = files["adapter_model.safetensors"]
    config = json.loads(files["adapter_config.json"])
    bad = {
        "truncated": {**files, "adapter_model.safetensors": weights[:100]},
        "dora": {**files, "adapter_config.json": json.dumps({**config, "use_dora": True}).encode()},
        "rank": {**files, "adapter_config.json": json.dumps({**config, "r": config["r"] + 1}).encode()},
    }
    for name, content in bad.items():
        status, answer = client.call("PUT", f"/agent/v1/adapters/{name}", {"files": host.publish(name, content)})
        assert (status, answer["error"]["code"]) == (422, "adapter_refused"), name
    assert vllm.adapters == {}
