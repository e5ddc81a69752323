"""Writes base models with random weights into folders: nothing but the grammar keeps their answers in shape.

    python random_models.py SEED TEXT_FILE FOLDER...

Three kinds in turn: other architectures, and tokenizers that cut text in other ways.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

REPOSITORY = Path(__file__).resolve().parents[3]
# The least that names a format of calls: Llama 3's, Hermes's and Mistral's.
TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}{% if tools %}{# FORMAT #}{% endif %}"
CALL_FORMATS = ["<|python_tag|>", "<tool_call>", "[TOOL_CALLS]"]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SHAPE: dict[str, Any] = {
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def shipped(folder: Path, _text: list[str]) -> None:
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(REPOSITORY / "models/anneal-tiny" / file, folder)


def byte_level(folder: Path, text: list[str]) -> None:
    """Merges trained on what a JSON answer is made of, so that tokens run over the ends of values."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(text, trainer)
    _save(tokenizer, folder)


def byte_fallback(folder: Path, text: list[str]) -> None:
    """Words behind a mark, as sentencepiece has them; what is in no token goes byte by byte."""
    special = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.train_from_iterator([line.replace(" ", "▁") for line in text], trainer)
    merges = [tuple(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
    vocabulary = trained.get_vocab()
    # Anew: the trainer makes special tokens of the bytes.
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    _save(tokenizer, folder)


def _save(tokenizer: Tokenizer, folder: Path) -> None:
    bos, eos, pad = "<s>", "</s>", "<pad>"
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, pad_token=pad)
    fast.save_pretrained(folder)


def main(seed: int, text_file: Path, folders: list[Path]) -> None:
    text = text_file.read_text().splitlines()
    windows = ["sliding_attention", "full_attention"]
    kinds = [
        (shipped, transformers.LlamaConfig, {}),
        (byte_level, transformers.Qwen3Config, {}),
        (byte_fallback, transformers.Gemma3TextConfig, {"sliding_window": 16, "layer_types": windows}),
    ]
    for index, folder in enumerate(folders):
        write_tokenizer, config, more = kinds[index % len(kinds)]
        folder.mkdir(parents=True)
        write_tokenizer(folder, text)
        template = TEMPLATE.replace("FORMAT", CALL_FORMATS[index % len(CALL_FORMATS)])
        (folder / "chat_template.jinja").write_text(template)
        size = len(transformers.AutoTokenizer.from_pretrained(folder))
        torch.manual_seed(seed + index)
        model = transformers.AutoModelForCausalLM.from_config(config(vocab_size=size, **SHAPE, **more))
        model.save_pretrained(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), [Path(each) for each in sys.argv[3:]])
