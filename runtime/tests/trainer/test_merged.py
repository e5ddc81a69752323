"""A merged export loads without PEFT and without this package."""

import json
from pathlib import Path

import torch
from support.trainer_process import ROOT, TINY
from support.training import train
from transformers import AutoModelForCausalLM, AutoTokenizer

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.tokenization import prompt_tokens
from anneal_runtime.trainer.adapter import load_adapter
from anneal_runtime.trainer.greedy import generate
from anneal_runtime.trainer.merge import merge

MOST_NEW = 8
SAMPLES = [json.loads(line) for line in (ROOT / "models" / "samples" / "products.jsonl").read_text().splitlines()]
QUESTIONS = [row["input"] for row in SAMPLES]


def test_the_merged_model_gives_the_same_greedy_answers_in_plain_transformers(tmp_path: Path) -> None:
    # No checkpoint is saved after the last step.
    saved = train(tmp_path / "run", SAMPLES, None, max_steps=21, save_steps=20, learning_rate=5e-3).checkpoints[20]
    merged = tmp_path / "merged"
    merge(TINY, saved, merged)
    base, tuned = our_answers(saved)
    assert plain_answers(merged) == tuned != base


def test_a_repeated_merge_gives_the_same_bytes(tmp_path: Path) -> None:
    saved = train(tmp_path / "run", SAMPLES, None, max_steps=3, save_steps=2).checkpoints[2]
    for name in ("one", "two"):
        merge(TINY, saved, tmp_path / name)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    # The base's weights are in float16, and so are the merged ones.
    assert weights[0] == weights[1] and len(weights[0]) == (TINY / "model.safetensors").stat().st_size


@torch.inference_mode()
def our_answers(adapter: Path) -> tuple[list[list[int]], list[list[int]]]:
    """Returns the answers of the base, then those of the tuned model."""
    loaded = load_causal_lm(TINY, torch.device("cpu"))
    prompts, end = prompt_tokens(loaded.tokenizer, QUESTIONS), loaded.tokenizer.eos_token_id
    tuned = load_adapter(loaded.model, adapter).eval()

    def answers() -> list[list[int]]:
        return [answer.tokens for answer in generate(tuned, prompts, end=end, most_new=MOST_NEW)]

    with tuned.disable_adapter():
        base = answers()
    return base, answers()


@torch.inference_mode()
def plain_answers(folder: Path) -> list[list[int]]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert not hasattr(model, "peft_config") and not list(folder.glob("adapter_*"))
    answers = []
    for question in QUESTIONS:
        tokens = torch.tensor([tokenizer(question)["input_ids"]])
        answer = model.generate(tokens, max_new_tokens=MOST_NEW, do_sample=False)
        answers.append([token for token in answer[0, tokens.shape[1] :].tolist() if token != tokenizer.eos_token_id])
    return answers
