import base64
import math
import struct

import numpy as np
import pytest
import torch
from server.support.file_host import FileHost
from server.support.lora_files import ReferenceAdapters
from server.support.running import RunningServer

LIKE_PAIRS = [
    ("The cat sits on the mat.", "A cat is sitting on a rug."),
    ("How do I reset my password?", "I forgot my password, how can I change it?"),
    ("The stock market fell sharply today.", "Shares dropped steeply this afternoon."),
]


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_like_sentences_lie_nearer_than_unlike_sentences(minilm: RunningServer) -> None:
    vectors = minilm.client.embed([text for pair in LIKE_PAIRS for text in pair], "all-minilm-l6-v2")
    for pair in range(3):
        like = dot(vectors[2 * pair], vectors[2 * pair + 1])
        unlike = [dot(vectors[2 * pair], vectors[other]) for other in range(6) if other // 2 != pair]
        assert like > 0.5 > max(unlike) + 0.1


def test_vectors_are_those_of_the_published_model(minilm: RunningServer) -> None:
    """The first numbers that sentence-transformers/all-MiniLM-L6-v2 gives for its card's own example."""
    (vector,) = minilm.client.embed(["This is an example sentence"], "all-minilm-l6-v2")
    assert vector[:4] == pytest.approx([0.0676569, 0.0634959, 0.0487131, 0.0793049], abs=1e-5)


@pytest.mark.parametrize("server,model", [("minilm", "all-minilm-l6-v2"), ("tiny", "anneal-tiny")])
def test_vectors_come_in_order_of_length_one_and_finite(
    server: str, model: str, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(server).client
    texts = ["", "a", "word " * 1500, "\x00\x01", "🎉", "The cat sits on the mat."] + [
        f"text {n}" * (n % 12) for n in range(150)
    ]
    together = client.embed(texts, model, max_input_tokens=8192)
    for vector in together:
        assert all(map(math.isfinite, vector))
        assert dot(vector, vector) == pytest.approx(1, abs=1e-5)
    for index in (0, 2, 5, 100):
        (alone,) = client.embed([texts[index]], model, max_input_tokens=8192)
        assert alone == pytest.approx(together[index], abs=1e-5)


LONG = " ".join(f"word {n} of a long text" for n in range(300))


def test_a_long_text_is_the_mean_over_the_tokens_of_its_windows(minilm: RunningServer) -> None:
    tokenizer, encoder = minilm.engine.tokenizer, minilm.engine.encoder
    ids = tokenizer(LONG, add_special_tokens=False)["input_ids"]
    size = 256 - 2
    windows = [
        [tokenizer.cls_token_id, *ids[at : at + size], tokenizer.sep_token_id] for at in range(0, len(ids), size)
    ]
    assert len(windows) > 5
    with torch.inference_mode():
        mean = sum(encoder.sums([window], None)[0] for window in windows) / sum(map(len, windows))
    body = {"model": "all-minilm-l6-v2", "input": LONG, "max_input_tokens": 8192}
    answer = minilm.client.post("/v1/embeddings", body)[1]
    assert answer["data"][0]["embedding"] == pytest.approx((mean / np.linalg.norm(mean)).tolist(), abs=1e-5)
    assert answer["usage"]["prompt_tokens"] == sum(map(len, windows))


@pytest.mark.parametrize("server,model", [("minilm", "all-minilm-l6-v2"), ("tiny", "anneal-tiny")])
def test_the_end_of_a_long_text_counts_unless_the_cut_is_asked_for(
    server: str, model: str, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(server).client
    texts = [f"{LONG} {end}" for end in ("the cat sleeps on the mat", "interest rates rose in March")]
    one, other = client.embed(texts, model, max_input_tokens=8192)
    assert dot(one, other) < 1 - 1e-6
    one, other = client.embed(texts, model, truncate_prompt_tokens=-1)
    assert one == other


@pytest.mark.parametrize("server,model", [("minilm", "all-minilm-l6-v2"), ("tiny", "anneal-tiny")])
def test_a_text_that_is_too_long_is_refused_by_its_position(
    server: str, model: str, request: pytest.FixtureRequest
) -> None:
    running = request.getfixturevalue(server)
    for most in ({}, {"max_input_tokens": running.engine.context_length}):
        body = {"model": model, "input": ["short", LONG, LONG], **most}
        status, answer = running.client.post("/v1/embeddings", body)
        assert (status, answer["error"]["param"], answer["error"]["index"]) == (400, "input", 1)
        assert f"maximum input length is {running.engine.context_length} tokens" in answer["error"]["message"]


def test_base64_holds_the_same_numbers(minilm: RunningServer) -> None:
    body = {"model": "all-minilm-l6-v2", "input": "one", "encoding_format": "base64"}
    packed = base64.b64decode(minilm.client.post("/v1/embeddings", body)[1]["data"][0]["embedding"])
    (vector,) = minilm.client.embed(["one"], "all-minilm-l6-v2")
    assert list(struct.unpack(f"<{len(packed) // 4}f", packed)) == pytest.approx(vector, abs=1e-7)


def test_a_tuned_model_embeds_with_its_adapter(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(40)
    tiny.client.call("PUT", f"/agent/v1/adapters/{name}", {"files": host.publish(name, files)})
    (base,) = tiny.client.embed(["The cat"], "anneal-tiny")
    (tuned,) = tiny.client.embed(["The cat"], name)
    assert dot(base, tuned) < 0.999


def test_no_texts_give_no_vectors(minilm: RunningServer) -> None:
    assert minilm.client.embed([], "all-minilm-l6-v2") == []


def test_an_embedder_gives_no_completions_and_takes_no_adapters(minilm: RunningServer, host: FileHost) -> None:
    body = {"model": "all-minilm-l6-v2", "prompt": "a"}
    assert minilm.client.post("/v1/completions", body)[0] == 400
    files = host.publish("none", {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"})
    assert minilm.client.call("PUT", "/agent/v1/adapters/a", {"files": files})[0] == 422


def test_bad_input_is_refused(minilm: RunningServer) -> None:
    for change in (
        {"input": 3},
        {"input": [1]},
        {"encoding_format": "hex"},
        {"max_input_tokens": 0},
        {"truncate_prompt_tokens": 10},
    ):
        body = {"model": "all-minilm-l6-v2", "input": "a", **change}
        assert minilm.client.post("/v1/embeddings", body)[0] == 400
    assert minilm.client.post("/v1/embeddings", {"model": "anneal-tiny", "input": "a"})[0] == 404
