"""Writes a Llama of 76 million random weights with the tokenizer of anneal-tiny: python random_llama.py FOLDER."""

import shutil
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TINY = Path(__file__).resolve().parent.parent / "models/anneal-tiny"

folder = Path(sys.argv[1])
folder.mkdir(parents=True)
for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
    shutil.copy(TINY / file, folder)
torch.manual_seed(1)
config = LlamaConfig(
    vocab_size=1024,
    hidden_size=768,
    intermediate_size=2048,
    num_hidden_layers=12,
    num_attention_heads=12,
    num_key_value_heads=4,
    max_position_embeddings=1024,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
LlamaForCausalLM(config).save_pretrained(folder)
