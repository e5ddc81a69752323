import re

import pytest
from server.support.lora_files import ReferenceAdapters, prompts
from server.support.running import RunningServer


def test_greedy_answers_of_a_batch_equal_one_by_one_generation(
    tiny: RunningServer, reference: ReferenceAdapters
) -> None:
    asked = prompts(40)
    answers = tiny.client.complete(asked, max_tokens=16)
    assert [choice["index"] for choice in answers] == list(range(40))
    assert [choice["text"] for choice in answers] == [reference.generate(prompt) for prompt in asked]


def test_a_prompt_alone_answers_as_in_a_batch(tiny: RunningServer) -> None:
    asked = prompts(6, seed=1)
    together = tiny.client.texts(asked, max_tokens=24)
    assert [tiny.client.texts(prompt, max_tokens=24)[0] for prompt in asked] == together


def test_a_seed_gives_the_same_answer_in_any_batch(tiny: RunningServer) -> None:
    asked = prompts(20, seed=2)
    options = {"temperature": 1.0, "top_p": 0.9, "seed": 11, "max_tokens": 24}
    together = tiny.client.texts(asked, **options)
    assert [tiny.client.texts(asked[index], **options)[0] for index in (0, 7, 19)] == [
        together[index] for index in (0, 7, 19)
    ]
    assert tiny.client.texts(asked, **{**options, "seed": 12}) != together


def test_without_a_seed_answers_differ(tiny: RunningServer) -> None:
    texts = tiny.client.texts(["The"] * 12, temperature=1.0)
    assert len(set(texts)) > 6


def test_the_defaults_are_those_of_vllm(tiny: RunningServer) -> None:
    body = {"model": "anneal-tiny", "prompt": ["The"] * 12}
    _, answer = tiny.client.post("/v1/completions", body)
    assert len({choice["text"] for choice in answer["choices"]}) > 1
    assert answer["usage"]["completion_tokens"] <= 12 * 16
    assert "length" in {choice["finish_reason"] for choice in answer["choices"]}


def test_stop_strings_end_the_answer_before_themselves(tiny: RunningServer) -> None:
    (plain,) = tiny.client.complete("a", max_tokens=40)
    (stopped,) = tiny.client.complete("a", max_tokens=40, stop=["never", "\nClara"])
    assert stopped["text"] == plain["text"][: plain["text"].index("\nClara")]
    assert stopped["finish_reason"] == "stop"


def test_an_answer_ends_at_the_end_token_or_at_max_tokens(tiny: RunningServer) -> None:
    prompt = "Question: What is the colour of Anna?\nAnswer: "
    assert tiny.client.complete(prompt, max_tokens=100)[0]["finish_reason"] == "stop"
    assert tiny.client.complete(prompt, max_tokens=2)[0]["finish_reason"] == "length"


def test_more_tokens_than_fit_are_cut_to_the_context(tiny: RunningServer) -> None:
    _, counted = tiny.client.post("/tokenize", {"model": "anneal-tiny", "prompt": "word " * 400})
    prompt = "word " * 400
    body = {"model": "anneal-tiny", "prompt": prompt, "max_tokens": 5000, "seed": 1}
    _, answer = tiny.client.post("/v1/completions", body)
    assert counted["count"] + answer["usage"]["completion_tokens"] <= 1024


def test_a_prompt_without_room_is_named_before_anything_runs(tiny: RunningServer) -> None:
    before = tiny.client.metric("anneal_model_server_prompts_total")
    body = {"model": "anneal-tiny", "prompt": ["fine", "fine", "x y z " * 2000, "fine"]}
    status, answer = tiny.client.post("/v1/completions", body)
    assert (status, answer["error"]["param"], answer["error"]["index"]) == (400, "prompt", 2)
    assert tiny.client.metric("anneal_model_server_prompts_total") == before


def test_no_prompts_give_no_choices(tiny: RunningServer) -> None:
    assert tiny.client.complete([]) == []


def test_an_empty_prompt_is_answered(tiny: RunningServer) -> None:
    assert len(tiny.client.complete(["", "a"])) == 2


def test_unicode_survives(tiny: RunningServer) -> None:
    (text,) = tiny.client.texts("Grüße 🎉 " * 3, max_tokens=30)
    assert text.encode()


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": 7},
        {"prompt": ["a", None]},
        {"prompt": {"text": "a"}},
        {"prompt": "\ud800"},
        {"max_tokens": 0},
        {"max_tokens": "many"},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"temperature": -1},
        {"temperature": "hot"},
        {"top_p": 0},
        {"top_p": 1.1},
        {"seed": "x"},
        {"stop": 5},
        {"stream": "yes"},
        {"n": 2},
        {"structured_outputs": {"json": {}}},
        {"structured_outputs": "x"},
    ],
)
def test_bad_values_are_refused_by_name(tiny: RunningServer, change: dict[str, object]) -> None:
    status, answer = tiny.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": "a", **change})
    assert (status, answer["error"]["param"]) == (400, next(iter(change)))
    assert answer["error"]["type"] == "BadRequestError"


@pytest.mark.parametrize("model", ["nobody", None, 3, "../anneal-tiny"])
def test_an_unknown_model_is_404(tiny: RunningServer, model: object) -> None:
    status, answer = tiny.client.post("/v1/completions", {"model": model, "prompt": "a"})
    assert (status, answer["error"]["type"]) == (404, "NotFoundError")


def test_null_is_the_same_as_absent(tiny: RunningServer) -> None:
    nothing = dict.fromkeys(["max_tokens", "temperature", "top_p", "seed", "stop", "structured_outputs", "stream"])
    assert tiny.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": "a", **nothing})[0] == 200


def test_text_never_holds_special_tokens(tiny: RunningServer) -> None:
    texts = tiny.client.texts(["The"] * 30, temperature=2.0, max_tokens=40)
    assert not any(re.search(r"</?s>|<pad>", text) for text in texts)
