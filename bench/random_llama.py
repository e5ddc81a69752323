"""Writes a Llama of random weights with the tokenizer of anneal-tiny: python random_llama.py FOLDER [--size SIZE].

SIZE is 76M (the default; float32, 1,024 tokens in the vocabulary) or 617M (bfloat16, 32,000 tokens).
"""

import argparse
import shutil
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils.logging import disable_progress_bar

TINY = Path(__file__).resolve().parent.parent / "models/anneal-tiny"

SIZES = {
    "76M": {
        "vocab_size": 1024,
        "hidden_size": 768,
        "intermediate_size": 2048,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_key_value_heads": 4,
        "dtype": torch.float32,
    },
    "617M": {
        "vocab_size": 32_000,
        "hidden_size": 1536,
        "intermediate_size": 4096,
        "num_hidden_layers": 20,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "dtype": torch.bfloat16,
    },
}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path)
parser.add_argument("--size", choices=SIZES, default="76M")
options = parser.parse_args()
disable_progress_bar()
options.folder.mkdir(parents=True)
for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
    shutil.copy(TINY / file, options.folder)
torch.manual_seed(1)
config = LlamaConfig(
    max_position_embeddings=1024,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
    **SIZES[options.size],
)
LlamaForCausalLM(config).to(SIZES[options.size]["dtype"]).save_pretrained(options.folder)
