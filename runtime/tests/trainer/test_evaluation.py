from dataclasses import replace

import pytest
import torch
from support.trainer_process import TINY
from support.training import USUAL_ARGS

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.row_sequences import AnswerRow, Row, row_prompts
from anneal_runtime.tokenization import TextEncoder, prompt_tokens
from anneal_runtime.tool_text import call_format, said
from anneal_runtime.trainer import evaluation
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.evaluation import evaluate, new_token_limit
from anneal_runtime.trainer.greedy import Answer, generate
from anneal_runtime.trainer.pair_order import pair_orders

LOADED = load_causal_lm(TINY, torch.device("cpu"))
ENCODER = TextEncoder(LOADED.tokenizer)
MODEL = add_adapter(LOADED.model, replace(USUAL_ARGS, r_value=4, lora_alpha=4), print).eval()
TEXTS = ["Repeat: teal\n", "Question: What is the colour of the Aurora Kettle?\nAnswer: ", "A"]


@torch.inference_mode()
def test_batched_answers_equal_those_of_transformers_one_by_one() -> None:
    prompts = prompt_tokens(LOADED.tokenizer, TEXTS)
    batched = generate(MODEL, prompts, end=2, most_new=24)
    for prompt, answer in zip(prompts, batched, strict=True):
        ids = torch.tensor([prompt])
        one = MODEL.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=24,
            do_sample=False,
            eos_token_id=2,
            pad_token_id=0,
        )
        new = one[0, len(prompt) :].tolist()
        assert answer == ([token for token in new if token not in (0, 2)], 2 not in new)


def test_a_job_may_limit_the_length_of_the_answers() -> None:
    rows = [Row(text, "x") for text in TEXTS]
    whole, cut = evaluate(MODEL, ENCODER, rows), evaluate(MODEL, ENCODER, rows, max_tokens=2)
    for long, short in zip(whole, cut, strict=True):
        assert long["base"].startswith(short["base"])
        assert len(LOADED.tokenizer(short["base"], add_special_tokens=False)["input_ids"]) <= 2


def test_the_graders_of_prompts_read_why_an_answer_ended_and_the_functions_that_it_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered = Row("Rain?", "", tools=[{"type": "function", "function": {"name": "weather"}}])
    tools = [{"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}]
    text = said(call_format(LOADED.tokenizer)[0], {"content": "", "tool_calls": tools})
    ids = LOADED.tokenizer(text, add_special_tokens=False)["input_ids"]
    monkeypatch.setattr(evaluation, "generate", lambda *_args, **_named: [Answer(ids, False), Answer(ids, True)])
    called, cut = evaluate(MODEL, ENCODER, [offered, Row("Rain?", "")], 8, is_open=True)
    assert called["tuned"] == cut["tuned"]
    expected = {"finish_reason": "tool_calls", "output_text": "", "output_tools": tools}
    assert called["samples"] == {"tuned": expected, "base": expected}
    # No function was offered.
    assert cut["samples"] == {"tuned": {"finish_reason": "length"}, "base": {"finish_reason": "length"}}


def test_the_base_answers_without_the_adapter_in_place() -> None:
    rows = [Row(text, "x") for text in TEXTS]
    before = evaluate(MODEL, ENCODER, rows)
    with torch.no_grad():
        for parameter in trainable(MODEL).values():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    after = evaluate(MODEL, ENCODER, rows)
    assert [row["base"] for row in before] == [row["tuned"] for row in before] == [row["base"] for row in after]
    assert [row["tuned"] for row in after] != [row["base"] for row in after]


@torch.no_grad()
def test_each_model_orders_a_pair_by_its_own_log_probabilities() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        for parameter in trainable(MODEL).values():
            parameter.add_(torch.randn(parameter.shape) * 3)
    texts = [("It is blue.", "It costs 252 dollars without tax."), ("In Oslo.", "Ask the shop."), ("Blue.", "Red.")]
    pairs = [AnswerRow(list(answers), "Question?\n") for answers in [*texts, *((b, a) for a, b in texts)]]

    def logp(answer: str, by_token: bool) -> float:
        (prompt,), (ids,) = ENCODER.prompts(["Question?\n"]), ENCODER.answers([answer])
        logits = MODEL(input_ids=torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
        logps = torch.log_softmax(logits.float(), -1)[range(len(ids)), ids]
        return float(logps.mean() if by_token else logps.sum())

    for by_token in (False, True):

        def prefers_chosen(by_token: bool = by_token) -> list[bool]:
            return [logp(str(a), by_token) > logp(str(b), by_token) for a, b in (pair.answers for pair in pairs)]

        ours = prefers_chosen()
        with MODEL.disable_adapter():
            theirs = prefers_chosen()
        orders = pair_orders(MODEL, ENCODER, pairs, by_token=by_token)
        assert orders == [{"tuned": a, "base": b} for a, b in zip(ours, theirs, strict=True)]
        assert ours != theirs

    too_long = AnswerRow(["word " * 3000, "x"], "Question?\n")
    assert pair_orders(MODEL, ENCODER, [too_long, pairs[0]], by_token=False)[0] is None
    assert pair_orders(MODEL, ENCODER, [too_long], by_token=False) == [None]
    assert pair_orders(MODEL, ENCODER, [], by_token=False) == []


def test_a_prompt_longer_than_the_context_keeps_its_end() -> None:
    rows = [Row("word " * 3000 + "end", "x"), Row("", "plain text")]
    assert len(evaluate(MODEL, ENCODER, rows)) == 2


def test_new_tokens_are_bounded_by_what_is_expected_and_by_the_context() -> None:
    assert new_token_limit([[1] * 10], [[1] * 5], context=1024) == 80
    assert new_token_limit([[1] * 10], [[1] * 100], context=1024) == 216
    assert new_token_limit([[1] * 900], [[1] * 400], context=1024) == 512
    assert new_token_limit([[1] * 600], [[1] * 400], context=1024) == 512
    assert new_token_limit([[1] * 300], [[1] * 400], context=1024) == 724


def test_a_pair_may_be_asked_as_a_chat() -> None:
    row = Row("Who?", "Ann.")
    user = {"role": "user", "content": "Who?"}
    for system, messages in ((None, [user]), ("Be brief.", [{"role": "system", "content": "Be brief."}, user])):
        assert row_prompts(ENCODER, [row.as_chat(system)]) == ENCODER.chats([messages])
    (answered,) = evaluate(MODEL, ENCODER, [row.as_chat("Be brief.")], max_tokens=2)
    assert (answered["input"], answered["expected"]) == ("Who?", "Ann.")
    text, chat = Row("", "a text"), Row("user: Who?", "Ann.", [user])
    assert [each.as_chat("Be brief.") for each in (text, chat)] == [text, chat]
