"""What every route shares: the token, refusals, fairness, and clients that go away."""

import http.client
import json
import random
import threading
import time
from dataclasses import replace

import pytest
from server.support.lora_files import prompts
from server.support.running import MAX_BATCH, RunningServer
from support.until import until

LONG = {"max_tokens": 600, "structured_outputs": {"regex": "[a-z ]{900}"}}


@pytest.mark.parametrize("token", [None, "wrong", ""])
def test_every_route_but_health_wants_the_token(tiny: RunningServer, token: str | None) -> None:
    stranger = replace(tiny.client, token=token)
    for method, path in [
        ("GET", "/v1/models"),
        ("POST", "/v1/completions"),
        ("GET", "/metrics"),
        ("PUT", "/agent/v1/adapters/a"),
        ("GET", "/nowhere"),
    ]:
        status, answer = stranger.call(method, path, {} if method != "GET" else None)
        assert (status, answer["error"]["type"]) == (401, "AuthenticationError")
    assert stranger.call("GET", "/health") == (200, {"status": "ok"})


def test_unknown_routes_methods_and_bodies_are_refused_in_one_shape(tiny: RunningServer) -> None:
    assert tiny.client.call("GET", "/nowhere")[1]["error"]["code"] == 404
    assert tiny.client.call("GET", "/v1/completions")[1]["error"]["code"] == 405
    for raw in (b"", b"[]", b"{", b"\xff", b"[" * 200_000, b'"x"'):
        status, answer = tiny.client.call("POST", "/v1/completions", raw=raw)
        assert (status, answer["error"]["type"]) == (400, "BadRequestError")


def test_models_names_the_base(tiny: RunningServer) -> None:
    first = tiny.client.call("GET", "/v1/models")[1]["data"][0]
    assert (first["id"], first["parent"], first["max_model_len"]) == ("anneal-tiny", None, 1024)


def test_tokenize_counts_as_completions_do(tiny: RunningServer) -> None:
    _, answer = tiny.client.post("/tokenize", {"model": "anneal-tiny", "prompt": "The cat"})
    body = {"model": "anneal-tiny", "prompt": "The cat", "max_tokens": 1}
    used = tiny.client.post("/v1/completions", body)[1]["usage"]["prompt_tokens"]
    assert answer["count"] == len(answer["tokens"]) == used
    assert answer["tokens"][0] == tiny.engine.tokenizer.bos_token_id


def test_a_huge_body_is_read_without_holding_up_others(tiny: RunningServer) -> None:
    huge = json.dumps({"model": "nobody", "prompt": ["x" * 1000] * 60_000}).encode()
    assert len(huge) > 60_000_000
    assert tiny.client.call("POST", "/v1/completions", raw=huge)[0] == 404


def test_metrics_count_requests_and_tokens(tiny: RunningServer) -> None:
    name = "anneal_model_server_generated_tokens_total"
    before = tiny.client.metric(name)
    tiny.client.complete(["a", "b"], max_tokens=5)
    assert 0 < tiny.client.metric(name) - before <= 10
    assert tiny.client.metric("anneal_model_server_first_token_seconds_count") > 0
    assert tiny.client.metric('anneal_model_server_requests_total{route="/v1/completions",status="2xx"}') > 0


def test_a_single_prompt_does_not_wait_for_a_large_request(tiny: RunningServer) -> None:
    body = {"model": "anneal-tiny", "prompt": prompts(600), "max_tokens": 40, "temperature": 1.0}
    large = begin(tiny, body)
    until(lambda: tiny.gauge("waiting_rows") > 100)
    for _ in range(5):
        tiny.client.complete("a", max_tokens=3)
    assert tiny.gauge("waiting_rows") > 0, "five single prompts waited for the large request"
    large.close()
    until(lambda: tiny.gauge("running_rows") == 0 and tiny.gauge("waiting_rows") == 0)


def test_rows_of_a_client_that_went_away_stop(tiny: RunningServer) -> None:
    connection = begin(tiny, {"model": "anneal-tiny", "prompt": ["a"] * (3 * MAX_BATCH), **LONG})
    until(lambda: tiny.gauge("running_rows") >= MAX_BATCH)
    connection.close()
    until(lambda: tiny.gauge("running_rows") == 0 and tiny.gauge("waiting_rows") == 0)
    assert tiny.client.complete("a")


def test_answers_stay_right_while_others_join_fail_and_leave(tiny: RunningServer) -> None:
    asked = prompts(24, seed=50)
    expected = tiny.client.texts(asked, max_tokens=20)
    wrong: list[str] = []

    def disturb(number: int) -> None:
        pick = random.Random(number)
        for _ in range(6):
            prompt = ["word " * pick.randint(0, 150)] * pick.randint(1, 8)
            regex = pick.choice(["[a-z ]{900}", "a{1000000000}", r'\{"some forced key":(true|false)\}'])
            body = {"model": "anneal-tiny", "prompt": prompt, "max_tokens": 99, "structured_outputs": {"regex": regex}}
            connection = begin(tiny, body)
            time.sleep(pick.random() / 5)
            connection.close()

    def ask(number: int) -> None:
        for index in random.Random(number).sample(range(24), 8):
            if tiny.client.texts(asked[index], max_tokens=20) != [expected[index]]:
                wrong.append(asked[index])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4) for work in (disturb, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    until(lambda: tiny.gauge("running_rows") == 0)


def begin(server: RunningServer, body: dict[str, object]) -> http.client.HTTPConnection:
    """Sends a request whose answer nobody reads."""
    connection = http.client.HTTPConnection("127.0.0.1", server.client.port)
    headers = {"Authorization": f"Bearer {server.client.token}"}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    return connection
