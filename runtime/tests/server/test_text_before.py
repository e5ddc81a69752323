"""A text before a prompt: special tokens act in the prompt alone."""

from server.support.running import RunningServer


def count(server: RunningServer, prompt: str, before: str | None = None) -> list[int]:
    body = {"model": "anneal-tiny", "prompt": prompt} | ({} if before is None else {"text_before": before})
    status, answer = server.client.post("/tokenize", body)
    assert status == 200, answer
    return list(answer["tokens"])


def test_special_tokens_act_in_the_prompt_and_not_in_the_text_before_it(tiny: RunningServer) -> None:
    end = tiny.engine.tokenizer.eos_token_id
    assert count(tiny, "a</s>b").count(end) == 1
    assert count(tiny, "a</s>b", "c</s>").count(end) == 1
    assert end not in count(tiny, "", "a</s>b")
    assert count(tiny, "b", "a ") == count(tiny, "a b")


def test_the_answer_to_a_prompt_with_a_text_before_it_is_that_to_the_whole(tiny: RunningServer) -> None:
    whole = {
        "model": "anneal-tiny",
        "prompt": ["Question: who?\nAnswer: "],
        "max_tokens": 8,
        "temperature": 0,
        "echo": True,
    }
    parts = {**whole, "prompt": ["Answer: "], "text_before": ["Question: who?\n"]}
    texts = [tiny.client.post("/v1/completions", body)[1]["choices"][0]["text"] for body in (whole, parts)]
    assert texts[0] == texts[1]


def test_a_text_before_belongs_to_each_prompt(tiny: RunningServer) -> None:
    body = {"model": "anneal-tiny", "prompt": ["a", "b"], "text_before": ["c"]}
    status, answer = tiny.client.post("/v1/completions", body)
    assert status == 400 and answer["error"]["param"] == "text_before"


def test_texts_to_embed_are_text(tiny: RunningServer) -> None:
    answers = [
        tiny.client.post("/v1/embeddings", {"model": "anneal-tiny", "input": [text]})[1]["usage"]["prompt_tokens"]
        for text in ("</s>" * 20, "xx" * 20)
    ]
    assert answers[0] > 40 and answers[0] > answers[1]
