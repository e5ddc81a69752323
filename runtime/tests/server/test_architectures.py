"""Bases of other shapes, with random weights: grouped heads, and windows that reach back only a few tokens."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from server.support.lora_files import ReferenceAdapters, prompts
from server.support.running import REPOSITORY, serve

from anneal_runtime.server.decoding import packed_linear
from anneal_runtime.settings import ServerSpec

SMALL: dict[str, Any] = {
    "vocab_size": 1024,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
BASES = {
    "grouped-heads": transformers.Qwen3Config(**SMALL),
    "windows": transformers.Gemma3TextConfig(
        **SMALL, sliding_window=8, layer_types=["sliding_attention", "full_attention", "sliding_attention"]
    ),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_greedy_answers_equal_one_by_one_generation(
    name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if packed:
        monkeypatch.setattr(packed_linear, "LEAST_WEIGHTS", 1)
    torch.manual_seed(0)
    folder = tmp_path / "base"
    transformers.AutoModelForCausalLM.from_config(BASES[name]).save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(REPOSITORY / "models/anneal-tiny" / file, folder)
    server = serve(ServerSpec(name, "transformers", {"path": str(folder)}, 512, 8, dtype="float32"), tmp_path)
    reference, asked = ReferenceAdapters(folder, tmp_path), prompts(20)
    assert server.client.texts(asked, model=name, max_tokens=16) == [reference.generate(prompt) for prompt in asked]
