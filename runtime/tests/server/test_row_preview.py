"""A preview says what the trainer learns: its tokens and spans give the trainer's tokens and labels back."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from server.support.running import RunningServer
from test_special_tokens import CHATML, with_tokens

from anneal_runtime.row_preview import SHOWN_TOKENS, Preview
from anneal_runtime.row_sequences import NOT_LEARNED
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.answer_rows import encode_answer_rows, read_answer_rows
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.prompts import encode_prompts
from anneal_runtime.trainer.rows import EncodedRows, encode_rows

Line = dict[str, Any]

# This template writes another token than the end token after an answer.
LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
    "<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }}[/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content | trim }}{{ eos_token }}{% else %}{{ m.content }}"
    "{% endif %}{% endfor %}"
)
TOKENIZERS = {
    "own": lambda: with_tokens("{{ bos_token }}{% for m in messages %}{{ m.content }} {% endfor %}", []),
    "llama 3": lambda: with_tokens(LLAMA3, ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]),
    "chatml": lambda: with_tokens(CHATML, ["<|im_start|>", "<|im_end|>"]),
    "mistral": lambda: with_tokens(MISTRAL, ["[INST]", "[/INST]"]),
}


def said(role: str, content: str) -> Line:
    return {"role": role, "content": content}


TOOL = {"type": "function", "function": {"name": "stock", "parameters": {}}}
CALL = {"id": "1", "type": "function", "function": {"name": "stock", "arguments": '{"of": "lamp"}'}}
TURNS = [
    said("system", "Be brief."),
    said("user", "Who </s> are you?"),
    said("assistant", "Zoë 💡"),
    said("user", "And then?"),
    said("assistant", "Nobody."),
    said("user", "Why?"),
    said("assistant", "Because."),
]
SUPERVISED: list[Line] = [
    {"input": "Question: who</s>?\nAnswer: ", "output": "Me </s>, 12."},
    {"input": "far " * 60 + "near: ", "output": "one " + "two " * 40},
    {"input": "", "output": "A whole text about a kettle."},
    {"input": "", "output": "long " * 60},
    {"messages": TURNS, "learned": [2, 4, 6]},
    {"messages": TURNS, "learned": [2, 6], "muted": [4]},
    {"messages": TURNS[:5], "learned": [4]},
    {
        "messages": [
            said("user", "How many?"),
            {**said("assistant", ""), "tool_calls": [CALL]},
            {"role": "tool", "content": "7", "tool_call_id": "1"},
            said("assistant", "7"),
        ],
        "learned": [1, 3],
        "tools": [TOOL],
    },
]
PAIRS: list[Line] = [
    {"input": "Who?\n", "chosen": "Me.", "rejected": "Nobody."},
    {"input": "Who?\n", "chosen": "Me.", "rejected": "far " * 60},
    {"messages": TURNS[:2], "chosen": [said("assistant", "Me.")], "rejected": [said("assistant", "No.")]},
]
JUDGED: list[Line] = [
    {"input": "Who?\n", "answer": "Me.", "label": True},
    {"messages": TURNS[:2], "answer": [said("assistant", "No.")], "label": False},
]


def shown(encoder: TextEncoder, method: Line | None, lines: list[Line], max_length: int = 100, **options: Any) -> Any:
    body = {"method": method, "max_length": max_length, "special_tokens": True, "shown_rows": 20, **options}
    return Preview.from_json(body).of(encoder, [json.dumps(line) for line in lines])


def of_supervised(train_on: str) -> Line:
    return {"type": "supervised", "supervised": {"hyperparameters": {"train_on": train_on}}}


def given_back(sequence: Line) -> tuple[list[int], list[int]]:
    """Tokens and labels by what the preview says alone."""
    parts = sequence["shown"]
    tokens: list[int] = parts["ids"]
    targets = dict(enumerate(tokens)) | {each["index"]: each["id"] for each in parts["replaced"]}
    learned = [at for start, end in parts["trained_spans"] for at in range(start, end)]
    assert len(learned) == sequence["learned"] and len(tokens) == len(parts["tokens"]) == sequence["length"]
    labels = [NOT_LEARNED] * len(tokens)
    for at in learned:
        labels[at - 1] = targets[at]
    return tokens, labels


def trained(rows: EncodedRows, row: int) -> list[tuple[list[int], list[int]]]:
    return [(rows.tokens(each).tolist(), rows.labels(each).tolist()) for each in rows.sequences([row])]


def written(folder: Path, lines: list[Line]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("max_length", [12, 30, 1000])
@pytest.mark.parametrize("train_on", ["answers", "last_answer", "everything"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_supervised_rows_are_shown_as_they_are_trained(
    name: str, train_on: str, max_length: int, tmp_path: Path
) -> None:
    encoder = TextEncoder(TOKENIZERS[name]())
    rows = encode_rows(written(tmp_path, SUPERVISED), encoder, max_length, train_on=train_on)
    previews = shown(encoder, of_supervised(train_on), SUPERVISED, max_length)
    assert [[given_back(each) for each in row["sequences"]] for row in previews] == [
        trained(rows, number) for number in range(len(SUPERVISED))
    ]
    assert sum(row["sequences"][0]["truncated"] for row in previews) == rows.cut_count


@pytest.mark.parametrize("loss_type", ["sigmoid", "orpo"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_compared_and_judged_answers_are_shown_as_they_are_trained(name: str, loss_type: str, tmp_path: Path) -> None:
    encoder = TextEncoder(TOKENIZERS[name]())
    dpo = {"type": "dpo", "dpo": {"hyperparameters": {"loss_type": loss_type}}}
    for method, lines in ((dpo, PAIRS), ({"type": "kto"}, JUDGED)):
        chosen_prompt = Method.from_json(method).learns_chosen_prompt
        path = written(tmp_path, lines)
        rows, _ = encode_answer_rows(read_answer_rows(path), encoder, 80, learns_chosen_prompt=chosen_prompt)
        previews = shown(encoder, method, lines, 80)
        kept = [row["sequences"] for row in previews if not row["sequences"][0]["dropped"]]
        assert [[given_back(each) for each in row] for row in kept] == [trained(rows, at) for at in range(len(rows))]
        assert len(previews) - len(kept) == rows.dropped_count
    assert [each["role"] for each in shown(encoder, dpo, PAIRS)[0]["sequences"]] == ["chosen", "rejected"]


PIECES = [
    *(
        "Who",
        "  two  ",
        "\n\n",
        "\t",
        "é",
        "e\u0301",
        "💡🏽",
        "漢字",
        "עברית",
        "\u200b",
        "\u00a0",
        "</s>",
        "<s>",
        "<|im_end|>",
    ),
    *("<|eot_id|>", "[INST]", "<unk>", '{"a": [1, 2.50]}', "{{ bos_token }}", "1,000.5", "'", "\\n", "far " * 30),
]


def drawn_row(draw: random.Random) -> Line:
    """A pair, a text or a conversation of pieces on which tokenizers and templates often differ."""

    def text() -> str:
        return "x" + "".join(draw.choices(PIECES, k=draw.randint(1, 8)))

    if draw.random() < 0.4:
        return {"input": text() if draw.random() < 0.8 else "", "output": text()}
    turns = [said("system", text())] if draw.random() < 0.3 else []
    for _ in range(draw.randint(1, 3)):
        turns += [said("user", text()), said("assistant", text())]
    answers = [at for at, turn in enumerate(turns) if turn["role"] == "assistant"]
    return {"messages": turns, "learned": sorted(draw.sample(answers, draw.randint(1, len(answers))))}


@pytest.mark.parametrize("name", ["llama 3", "chatml", "mistral"])
def test_a_thousand_drawn_rows_are_shown_as_they_are_trained(name: str, tmp_path: Path) -> None:
    encoder, draw = TextEncoder(TOKENIZERS[name]()), random.Random(7)
    lines = [drawn_row(draw) for _ in range(1000)]
    rows = encode_rows(written(tmp_path, lines), encoder, 200)
    previews = [row for at in range(0, 1000, 20) for row in shown(encoder, None, lines[at : at + 20], 200)]
    assert [[given_back(each) for each in row["sequences"]] for row in previews] == [
        trained(rows, number) for number in range(1000)
    ]


@pytest.mark.parametrize("overlong", ["cut", "drop"])
@pytest.mark.parametrize("lines", [SUPERVISED, PAIRS])
def test_rows_that_are_too_long_are_shown_as_the_job_takes_them(
    overlong: str, lines: list[Line], tmp_path: Path
) -> None:
    encoder, path, most = TextEncoder(TOKENIZERS["chatml"]()), written(tmp_path, lines), 40
    method = None if lines is SUPERVISED else {"type": "dpo"}
    if method is None:
        rows = encode_rows(path, encoder, most, overlong=overlong)
    else:
        rows, _ = encode_answer_rows(read_answer_rows(path), encoder, most, overlong=overlong)
    previews = [row["sequences"] for row in shown(encoder, method, lines, most, overlong=overlong)]
    kept = [row for row in previews if not row[0]["dropped"]]
    assert [[given_back(each) for each in row] for row in kept] == [trained(rows, at) for at in range(len(rows))]
    counts = (len(previews) - len(kept), sum(row[0]["truncated"] for row in kept))
    assert sum(counts) > 0
    assert rows.counts() == {
        **{"rows": len(previews), "dropped": counts[0], "cut": counts[1], "complete": True},
        "tokens": sum(each["length"] for row in kept for each in row),
        "learned": sum(each["learned"] for row in kept for each in row),
        "without_end": sum(not all(each["ended"] for each in row) for row in kept),
    }
    refused = shown(encoder, method, lines, most, overlong="refuse")
    assert sum("which the job refuses" in str(row["error"]) for row in refused) == sum(counts)


def test_a_model_server_shows_rows_by_its_own_tokenizer(tiny: RunningServer, tmp_path: Path) -> None:
    lines = [json.dumps(each) for each in SUPERVISED]
    body = {"max_length": 40, "special_tokens": False, "shown_rows": 2, "rows": lines}
    status, answer = tiny.client.post("/agent/v1/preview-rows", body)
    assert status == 200, answer
    encoder = TextEncoder(tiny.engine.tokenizer, special_tokens=False)
    rows = encode_rows(written(tmp_path, SUPERVISED), encoder, 40)
    assert [[given_back(each) for each in row["sequences"]] for row in answer["rows"][:2]] == [
        trained(rows, number) for number in (0, 1)
    ]
    counted = answer["rows"][2:]
    assert not any("shown" in each for row in counted for each in row["sequences"])
    assert [sum(each["learned"] for each in row["sequences"]) for row in counted] == [
        sum(rows.label_count(each) for each in rows.sequences([number])) for number in range(2, len(SUPERVISED))
    ]


def test_a_model_server_refuses_a_method_that_its_release_does_not_have(tiny: RunningServer) -> None:
    body = {"method": {"type": "ppo"}, "max_length": 40, "special_tokens": True, "shown_rows": 2, "rows": ["{}"]}
    status, answer = tiny.client.post("/agent/v1/preview-rows", body)
    assert (status, answer["error"]["message"]) == (
        400,
        "The rows cannot be shown: This trainer has no method ppo. It has supervised, dpo, kto, reinforcement.",
    )


def test_the_tokens_of_an_answer_are_bounded() -> None:
    encoder = TextEncoder(TOKENIZERS["own"]())
    lines: list[Line] = [{"input": "", "output": "far " * 15_000}] * 4
    sequences = [row["sequences"][0] for row in shown(encoder, None, lines, 1_000_000)]
    in_answer = sum(len(each["shown"]["ids"]) for each in sequences)
    assert in_answer == SHOWN_TOKENS < sum(each["length"] for each in sequences)


def test_a_row_that_the_template_refuses_or_that_teaches_nothing_says_why() -> None:
    encoder = TextEncoder(with_tokens("{{ raise_exception('no system message') }}", []))
    refused, empty = shown(encoder, None, [SUPERVISED[4], SUPERVISED[2]], 1)
    assert "no system message" in refused["error"] and refused["sequences"] == []
    assert empty["error"] == "has no token to learn"


def test_a_muted_answer_is_not_learned_although_everything_else_is() -> None:
    encoder = TextEncoder(TOKENIZERS["chatml"]())
    with_all, without = shown(encoder, of_supervised("everything"), [SUPERVISED[4], SUPERVISED[5]], 1000)

    def learned(row: Line) -> str:
        parts = row["sequences"][0]["shown"]
        return "".join("".join(parts["tokens"][start:end]) for start, end in parts["trained_spans"])

    assert "Nobody" in learned(with_all) and "Nobody" not in learned(without)
    assert "Who" in learned(without) and "Because" in learned(without)


@pytest.mark.parametrize("overlong", ["cut", "drop"])
def test_a_prompt_is_shown_as_the_trainer_answers_it(tmp_path: Path, overlong: str) -> None:
    encoder = TextEncoder(TOKENIZERS["llama 3"]())
    lines = [{"input": "Who? " * n, "item": {}} for n in range(1, 20)]
    lines += [{"messages": [said("user", "Who? " * n)], "tools": [], "item": {}} for n in range(1, 20)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    rows, prompts = encode_prompts(path, encoder, 24, overlong)
    method = {"type": "reinforcement", "reinforcement": {"hyperparameters": {}}}
    body = {"method": method, "max_length": 24, "special_tokens": False, "overlong": overlong, "shown_rows": 40}
    shown = Preview.from_json(body).of(encoder, [json.dumps(line) for line in lines])
    sequences = [sequence for row in shown for sequence in row["sequences"]]
    assert all(row["error"] is None for row in shown) and not any(each["learned"] for each in sequences)
    kept = [each["shown"]["ids"] for each in sequences if not each["dropped"]]
    assert kept == [prompt.tokens for prompt in prompts]
    assert len(kept) == len(lines) if overlong == "cut" else 0 < len(kept) < len(lines)
    counts = rows.counts()
    assert (counts["tokens"], counts["learned"]) == (sum(map(len, kept)), 0)
