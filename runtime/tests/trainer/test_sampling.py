"""Answers that the trainer samples with the decoder of model servers, on its own weights."""

import json
from dataclasses import replace

import pytest
import torch
from support.trainer_process import TINY
from support.training import USUAL_ARGS

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.tokenization import TextEncoder, text_of
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.answer_form import AnswerForm
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.greedy import generate
from anneal_runtime.trainer.rollouts.collect import sequence_of
from anneal_runtime.trainer.rollouts.policy import Policy
from anneal_runtime.trainer.rollouts.sample import Asked, Place, Sampled, Sampler
from anneal_runtime.trainer.rows import EncodedRows

LOADED = load_causal_lm(TINY, torch.device("cpu"))
MODEL = add_adapter(LOADED.model, replace(USUAL_ARGS, r_value=4, lora_alpha=4), print)
TEXTS = ["Repeat: teal\n", "Question: What is the colour of the Aurora Kettle?\nAnswer: ", "A", "The lamp"]
PROMPTS = TextEncoder(LOADED.tokenizer).prompts(TEXTS)
ASKED = [
    Asked(Place("train", 1, row, index), prompt, False) for row, prompt in enumerate(PROMPTS) for index in range(8)
]


@pytest.fixture(autouse=True)
def _adapter() -> None:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in trainable(MODEL).values():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.03)


def sampler(temperature: float = 1.0, top_p: float = 1.0, seed: int = 7, max_tokens: int = 24) -> Sampler:
    return Sampler(MODEL, LOADED, seed=seed, temperature=temperature, top_p=top_p, max_tokens=max_tokens)


def trained_logps(answers: list[Sampled], temperature: float = 1.0) -> list[torch.Tensor]:
    rows = EncodedRows()
    for asked, answer in zip(ASKED, answers, strict=True):
        rows.add(sequence_of(asked.prompt, answer.tokens))
    return ForwardPass(MODEL, temperature=temperature).answer_token_logps(rows, list(range(len(answers))))


def test_an_answer_does_not_depend_on_its_batch_mates() -> None:
    drawn = sampler()
    whole = drawn.sample(ASKED)
    assert len({tuple(answer.tokens) for answer in whole}) > len(ASKED) / 2
    assert [answer.tokens for answer in drawn.sample(ASKED[::-1])][::-1] == [answer.tokens for answer in whole]
    for number in (0, 9, 31):
        (alone,) = drawn.sample([ASKED[number]])
        assert alone.tokens == whole[number].tokens and alone.text == whole[number].text
    # Fewer rows at once, which join as others leave.
    drawn._limit = 5
    assert [answer.tokens for answer in drawn.sample(ASKED)] == [answer.tokens for answer in whole]


def test_streams_differ_by_seed_step_split_row_and_answer() -> None:
    first = Place("train", 1, 2, 3)
    others = [
        *(replace(first, split="held_out"), replace(first, step=2)),
        *(replace(first, row=3), replace(first, index=4)),
    ]
    assert len({first.stream(7), first.stream(8), *(other.stream(7) for other in others)}) == 6


@pytest.mark.parametrize("temperature", [1.0, 0.6, 1.7])
def test_the_sampler_scores_its_tokens_as_the_trainer_does(temperature: float) -> None:
    answers = sampler(temperature).sample(ASKED)
    for answer, logps in zip(answers, trained_logps(answers, temperature), strict=True):
        assert len(answer.tokens) == len(answer.logps)
        torch.testing.assert_close(torch.tensor(answer.logps), logps, rtol=0, atol=2e-4)


def test_an_update_changes_what_is_sampled_next() -> None:
    drawn = sampler()
    before = drawn.sample(ASKED)
    with torch.no_grad():
        for parameter in trainable(MODEL).values():
            parameter.mul_(-3)
    after = drawn.sample(ASKED)
    assert [answer.tokens for answer in before] != [answer.tokens for answer in after]
    logps = trained_logps(after)
    torch.testing.assert_close(torch.tensor(after[0].logps), logps[0], rtol=0, atol=2e-4)


def test_the_adapter_and_the_base_are_not_held_twice() -> None:
    policy = Policy(MODEL)
    trained = {parameter.untyped_storage().data_ptr() for parameter in trainable(MODEL).values()}
    factors = [factor for pair in policy.adapter().layers.values() for factor in pair]
    assert {factor.untyped_storage().data_ptr() for factor in factors} == trained
    own = {parameter.untyped_storage().data_ptr() for parameter in MODEL.parameters()}
    fused = policy.forward._model.model.layers[0]._qkv._product.dense()
    assert fused.untyped_storage().data_ptr() in own


def test_an_answer_ends_by_itself_or_at_the_limit() -> None:
    for answer in sampler(max_tokens=6).sample(ASKED):
        is_ended = answer.tokens[-1] == LOADED.tokenizer.eos_token_id
        assert answer.finish_reason == ("stop" if is_ended else "length")
        assert is_ended or len(answer.tokens) == 6
        assert len(answer.tokens) <= 7


def test_a_small_top_p_leaves_the_likeliest_token_alone() -> None:
    (greedy,) = sampler(top_p=1e-6, seed=1).sample(ASKED[:1])
    (other,) = sampler(top_p=1e-6, seed=2).sample(ASKED[:1])
    assert greedy.tokens == other.tokens


def test_a_batch_that_does_not_fit_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sampler()
    whole, run = drawn.sample(ASKED), Sampler._run

    def scarce(self: Sampler, asked: list[Asked], pulse: object) -> object:
        if self._most_rows(asked) > 8:
            raise RuntimeError("not enough memory")
        return run(self, asked, pulse)  # type: ignore[arg-type]

    monkeypatch.setattr(Sampler, "_run", scarce)
    assert [answer.tokens for answer in drawn.sample(ASKED)] == [answer.tokens for answer in whole]


def test_a_base_in_half_precision_is_sampled_nearly_as_it_is_trained() -> None:
    half = load_causal_lm(TINY, torch.device("cpu"), torch.bfloat16)
    model = add_adapter(half.model, replace(USUAL_ARGS, r_value=4, lora_alpha=8), print)
    answers = Sampler(model, half, seed=7, temperature=1.0, top_p=1.0, max_tokens=24).sample(ASKED)
    rows = EncodedRows()
    for asked, answer in zip(ASKED, answers, strict=True):
        rows.add(sequence_of(asked.prompt, answer.tokens))
    trained = torch.cat(ForwardPass(model).answer_token_logps(rows, list(range(len(answers)))))
    sampled = torch.cat([torch.tensor(answer.logps) for answer in answers])
    assert float(torch.exp(trained - sampled).mean()) == pytest.approx(1, abs=0.02)


def test_calls_of_offered_functions_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'So.<tool_call>\n{"name": "stock", "arguments": {}}\n</tool_call>'
    monkeypatch.setattr(LOADED.tokenizer, "decode", lambda _tokens, **_options: text)
    with_tools, without = sampler(max_tokens=40).sample([replace(ASKED[8], has_tools=True), ASKED[9]])
    assert with_tools.text == "So." and with_tools.tool_calls is not None
    assert with_tools.tool_calls[0]["function"] == {"name": "stock", "arguments": "{}"}
    assert with_tools.finish_reason == "tool_calls" and without.tool_calls is None


# As the service writes it: an object with one of three colours and a number.
GRAMMAR = """%llguidance {}
start: "{\\"colour\\":" ("\\"red\\"" | "\\"green\\"" | "\\"blue\\"") ",\\"size\\":" /[1-9][0-9]{0,2}/ "}"
"""


@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_the_trainer_scores_answers_under_the_form_that_they_were_drawn_with(temperature: float) -> None:
    form = AnswerForm(GRAMMAR, LOADED)
    drawn = Sampler(MODEL, LOADED, seed=7, temperature=temperature, top_p=1.0, max_tokens=64, form=form)
    answers = drawn.sample(ASKED)
    read = [json.loads(answer.text) for answer in answers if answer.finish_reason == "stop"]
    assert len(read) == len(ASKED) and {each["colour"] for each in read} <= {"red", "green", "blue"}
    rows = EncodedRows()
    for asked, answer in zip(ASKED, answers, strict=True):
        rows.add(sequence_of(asked.prompt, answer.tokens))
    forward = ForwardPass(MODEL, temperature=temperature, form=form)
    trained = forward.answer_token_logps(rows, list(range(len(answers))))
    for answer, logps in zip(answers, trained, strict=True):
        torch.testing.assert_close(torch.tensor(answer.logps), logps, rtol=0, atol=2e-4)
    # Without the form the same tokens are far less likely.
    assert torch.cat(trained_logps(answers, temperature)).sum() < torch.cat(trained).sum() - 10
    # Other answers have added to the automaton, which changes nothing.
    form.renew()
    assert [answer.tokens for answer in drawn.sample(ASKED[::-1])][::-1] == [answer.tokens for answer in answers]


def test_an_evaluation_answers_in_the_form() -> None:
    found = generate(MODEL, PROMPTS, end=LOADED.tokenizer.eos_token_id, most_new=64, form=AnswerForm(GRAMMAR, LOADED))
    assert all(json.loads(text_of(LOADED.tokenizer, answer.tokens))["size"] for answer in found)
