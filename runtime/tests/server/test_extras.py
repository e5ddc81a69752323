"""Penalties, biases, filters and log-probabilities, compared with the model itself and with the formulas."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from server.support.lora_files import ReferenceAdapters, prompts
from server.support.running import RunningServer
from support.trainer_process import TINY

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.server.decoding import batch
from anneal_runtime.tokenization import prompt_tokens
from anneal_runtime.trainer.answer_form import AnswerForm

PROMPT = "Question: What is the colour of Anna?\nAnswer: "


def logits_of(reference: ReferenceAdapters, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = reference.model(input_ids=torch.tensor([ids])).logits[0].float()
    return logits.clone()


def expected_logprobs(reference: ReferenceAdapters, ids: list[int]) -> list[float]:
    """Of every token but the first."""
    logprobs = logits_of(reference, ids).log_softmax(-1)
    return [float(logprobs[at, token]) for at, token in enumerate(ids[1:])]


@pytest.mark.parametrize("logits_at_once", [1 << 26, 16 * 1024 * 3])
def test_echoed_prompts_have_the_models_own_log_probabilities(
    tiny: RunningServer, reference: ReferenceAdapters, monkeypatch: pytest.MonkeyPatch, logits_at_once: int
) -> None:
    # The smaller limit makes the server read prompts in pieces of a few tokens.
    monkeypatch.setattr(batch, "SCORED_LOGITS", logits_at_once)
    asked = prompts(12, seed=3)
    ids = prompt_tokens(reference.tokenizer, asked)
    for given in (asked, ids):
        choices = tiny.client.complete(given, max_tokens=1, echo=True, logprobs=1)
        for text, tokens, choice in zip(asked, ids, choices, strict=True):
            logprobs = choice["logprobs"]
            assert choice["text"].startswith(text)
            assert logprobs["token_logprobs"][0] is None
            assert logprobs["token_logprobs"][1 : len(tokens)] == pytest.approx(
                expected_logprobs(reference, tokens), abs=2e-4
            )
            assert len(logprobs["tokens"]) == len(tokens) + 1
            best = logits_of(reference, tokens).argmax(-1).tolist()
            is_best = [
                own == max(top.values())
                for own, top in zip(logprobs["token_logprobs"][1:], logprobs["top_logprobs"][1:], strict=True)
            ]
            assert is_best[:-1] == [token == likeliest for token, likeliest in zip(tokens[1:], best, strict=False)]
            assert is_best[-1]


def test_an_echo_may_stand_without_an_answer(tiny: RunningServer, reference: ReferenceAdapters) -> None:
    (scored,) = tiny.client.complete(PROMPT, max_tokens=0, echo=True, logprobs=0)
    (plain,) = tiny.client.complete(PROMPT, max_tokens=0, echo=True)
    assert scored["text"] == plain["text"] == PROMPT
    assert plain["logprobs"] is None
    (ids,) = prompt_tokens(reference.tokenizer, [PROMPT])
    assert scored["logprobs"]["token_logprobs"][1:] == pytest.approx(expected_logprobs(reference, ids), abs=2e-4)
    assert "".join(scored["logprobs"]["tokens"]) == "<s>" + PROMPT
    begins = zip(scored["logprobs"]["text_offset"], scored["logprobs"]["tokens"], strict=True)
    assert all(PROMPT.startswith(token, offset) for offset, token in list(begins)[1:])
    full = [5] * 1024
    (choice,) = tiny.client.complete([full], max_tokens=0, echo=True, logprobs=0)
    assert len(choice["logprobs"]["tokens"]) == 1024
    assert tiny.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": [full]})[0] == 400


def test_answers_have_log_probabilities_and_the_likeliest_tokens(
    tiny: RunningServer, reference: ReferenceAdapters
) -> None:
    (choice,) = tiny.client.complete(PROMPT, max_tokens=8, logprobs=3)
    logprobs = choice["logprobs"]
    assert "".join(logprobs["tokens"]).removesuffix("</s>") == choice["text"]
    (ids,) = prompt_tokens(reference.tokenizer, [PROMPT])
    for token, logprob, top in zip(
        logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True
    ):
        expected = logits_of(reference, ids)[-1].log_softmax(-1)
        assert logprob == pytest.approx(float(expected.max()), abs=2e-4)
        assert len(top) == 3
        assert max(top, key=lambda text: float(top[text])) == token
        ids.append(int(expected.argmax()))


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_token_ids_come_with_the_log_probabilities_that_they_were_drawn_by(
    tiny: RunningServer, reference: ReferenceAdapters, temperature: float
) -> None:
    prompt_ids = prompt_tokens(reference.tokenizer, [PROMPT, "A"])
    options = {"temperature": temperature, "logprobs": 0, "logprobs_at_temperature": True, "seed": 2**63 - 1}
    for ids in prompt_ids:
        (choice,) = tiny.client.complete([ids], max_tokens=24, return_token_ids=True, **options)
        tokens = choice["token_ids"]
        is_ended = choice["finish_reason"] == "stop"
        assert (tokens[-1] == reference.tokenizer.eos_token_id) == is_ended
        assert reference.tokenizer.decode(tokens, skip_special_tokens=True) == choice["text"]
        logprobs = (logits_of(reference, [*ids, *tokens]) / temperature).log_softmax(-1)[len(ids) - 1 :]
        expected = [float(logprobs[at, token]) for at, token in enumerate(tokens)]
        assert choice["logprobs"]["token_logprobs"] == pytest.approx(expected, abs=2e-4)
    for refused in ({}, {"logprobs": 0, "stream": True}):
        asked = {"model": "anneal-tiny", "prompt": PROMPT, "return_token_ids": True, **refused}
        status, answer = tiny.client.post("/v1/completions", asked)
        assert (status, answer["error"]["param"]) == (400, "return_token_ids")


def test_log_probabilities_under_a_grammar_are_those_of_what_it_allows(
    tiny: RunningServer, reference: ReferenceAdapters
) -> None:
    """A row that asks for them draws the same tokens as one beside it that asks for those before the grammar."""
    grammar = {"structured_outputs": {"grammar": '%llguidance {}\nstart: ("red" | "green") /[0-9]{2}/\n'}}
    options = {**grammar, "temperature": 0.8, "logprobs": 0, "logprobs_at_temperature": True, "seed": 5}
    (ids,) = prompt_tokens(reference.tokenizer, [PROMPT])

    def drawn(**more: bool) -> tuple[list[int], list[float]]:
        (choice,) = tiny.client.complete([ids], max_tokens=24, return_token_ids=True, **options, **more)
        assert choice["finish_reason"] == "stop"
        return choice["token_ids"], choice["logprobs"]["token_logprobs"]

    with ThreadPoolExecutor() as threads:
        asked = [threads.submit(drawn), threads.submit(drawn, logprobs_restricted=True)]
        before, under = (each.result() for each in asked)
    form = AnswerForm(grammar["structured_outputs"]["grammar"], load_causal_lm(TINY, torch.device("cpu")))
    tokens = under[0]
    assert tokens == before[0]
    logits = logits_of(reference, [*ids, *tokens])[len(ids) - 1 : -1] / 0.8
    forbidden = form.grammars.along(form.start, tokens, logits.shape[-1])
    plain, allowed = logits.log_softmax(-1), logits.masked_fill(forbidden, -torch.inf).log_softmax(-1)
    assert before[1] == pytest.approx([float(plain[at, token]) for at, token in enumerate(tokens)], abs=2e-4)
    assert under[1] == pytest.approx([float(allowed[at, token]) for at, token in enumerate(tokens)], abs=2e-4)


def test_a_stream_brings_the_log_probabilities_of_the_whole_answer(tiny: RunningServer) -> None:
    body = {"model": "anneal-tiny", "temperature": 0, "max_tokens": 12, "logprobs": True, "top_logprobs": 2}
    asked = {**body, "messages": [{"role": "user", "content": "Who is Anna?"}]}
    _, whole = tiny.client.post("/v1/chat/completions", asked)
    _, events = tiny.client.post("/v1/chat/completions", {**asked, "stream": True})
    chunks = [json.loads(line[6:]) for line in str(events).splitlines() if line.startswith("data: {")]
    pieces = [choice for chunk in chunks for choice in chunk["choices"]]
    content = [entry for piece in pieces if piece["logprobs"] for entry in piece["logprobs"]["content"]]
    assert content == whole["choices"][0]["logprobs"]["content"]
    assert all(len(entry["top_logprobs"]) == 2 for entry in content)
    assert bytes(content[0]["bytes"]).decode(errors="replace") == content[0]["token"]


@pytest.mark.parametrize(
    "options",
    [
        {"frequency_penalty": 1.5, "presence_penalty": 0.5},
        {"repetition_penalty": 1.7},
        {"logit_bias": {"40": 6, "41": -100, "310": 5.5}},
        {"frequency_penalty": -2, "repetition_penalty": 1.2, "logit_bias": {"40": 3}},
    ],
)
def test_penalties_and_biases_follow_their_formulas(
    tiny: RunningServer, reference: ReferenceAdapters, options: dict[str, Any]
) -> None:
    (ids,) = prompt_tokens(reference.tokenizer, [PROMPT])
    output: list[int] = []
    for _ in range(20):
        logits = logits_of(reference, [*ids, *output])[-1]
        for token, bias in options.get("logit_bias", {}).items():
            logits[int(token)] += bias
        for token in {*ids, *output}:
            factor = options.get("repetition_penalty", 1)
            logits[token] = logits[token] / factor if logits[token] > 0 else logits[token] * factor
        for token, count in Counter(output).items():
            logits[token] -= options.get("frequency_penalty", 0) * count + options.get("presence_penalty", 0)
        token = int(logits.argmax())
        if token == reference.tokenizer.eos_token_id:
            break
        output.append(token)
    expected = reference.tokenizer.decode(output, skip_special_tokens=True)
    alone = tiny.client.texts(PROMPT, max_tokens=20, **options)
    assert alone == [expected]
    # Rows that ask for nothing of it, and rows of other requests, change nothing.
    assert tiny.client.texts([PROMPT, "The"], max_tokens=20, **options)[0] == expected


@pytest.mark.parametrize("options", [{"top_k": 1}, {"min_p": 1}, {"top_k": 2, "min_p": 0.999999}])
def test_narrow_filters_leave_the_likeliest_token(tiny: RunningServer, options: dict[str, Any]) -> None:
    asked = prompts(5, seed=8)
    assert tiny.client.texts(asked, temperature=1.5, max_tokens=12, **options) == tiny.client.texts(
        asked, max_tokens=12
    )


def test_a_seed_gives_the_same_answer_alone_and_in_a_batch(tiny: RunningServer) -> None:
    asked = prompts(20, seed=2)
    options = {"temperature": 1.2, "top_k": 30, "min_p": 0.01, "presence_penalty": 0.3, "seed": 5, "max_tokens": 16}
    together = tiny.client.texts(asked, **options)
    assert [tiny.client.texts(asked[at], **options)[0] for at in (0, 13)] == [together[0], together[13]]
    assert tiny.client.texts(asked, **{**options, "seed": 6}) != together


def test_a_stop_text_may_stay_in_the_answer(tiny: RunningServer) -> None:
    options = {"max_tokens": 40, "stop": ["\nClara"]}
    without = tiny.client.texts("a", **options)
    assert tiny.client.texts("a", include_stop_str_in_output=True, **options) == [without[0] + "\nClara"]


def test_log_probabilities_of_typed_output_count_every_token(tiny: RunningServer) -> None:
    regex = r"\{\"city\":\"[a-z]{1,8}\"\}"
    options = {"max_tokens": 40, "structured_outputs": {"regex": regex}}
    (plain,), (scored,) = tiny.client.texts(PROMPT, **options), tiny.client.complete(PROMPT, logprobs=0, **options)
    assert json.loads(scored["text"]) and json.loads(plain)
    assert "".join(scored["logprobs"]["tokens"]).removesuffix("</s>") == scored["text"]


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"prompt": [[1024]]}, "prompt_token_ids"),
        ({"prompt": [[5], "text"]}, "prompt_token_ids"),
        ({"prompt": [[]]}, "prompt_token_ids"),
        ({"logit_bias": {"1024": 1}}, "logit_bias"),
        ({"logit_bias": {"-1": 1}}, "logit_bias"),
        ({"logit_bias": {"5": 101}}, "logit_bias"),
        ({"logprobs": 21}, "logprobs"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"min_p": 1.5}, "min_p"),
        ({"echo": 1}, "echo"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 2}, "n"),
    ],
)
def test_wrong_values_are_refused_by_name(tiny: RunningServer, wrong: dict[str, Any], param: str) -> None:
    status, answer = tiny.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": "a", **wrong})
    assert (status, answer["error"]["param"]) == (400, param)
