"""Models in GGUF, the format of llama.cpp: read once and kept as an ordinary folder of safetensors in bfloat16.

The weights come out as llama.cpp's file has them: quantised numbers, written in full.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anneal_runtime.log import log

# Counts the changes of what is written, so that folders of another number are not used again.
WRITER = 1
SHARD_SIZE = "5GB"


class UnreadableGguf(Exception):
    """The file cannot be made into a model; the message is for the user."""


def folder_of(sha256: str, cache: Path) -> Path:
    """Where the model of the GGUF file with this sha256 is, once it is written."""
    return cache / f"gguf-{sha256}-{WRITER}"


def converted(sha256: str, cache: Path, find_file: Callable[[], Path]) -> Path:
    """The model's folder. One process writes it. Raises UnreadableGguf, and what `find_file` raises."""
    folder = folder_of(sha256, cache)
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(".lock")):
        if not folder.is_dir():
            file = find_file()
            # Beside its place, so that the rename is one step.
            part = Path(tempfile.mkdtemp(dir=cache, prefix=".part-"))
            try:
                _write(file, part)
                # Other users of a shared volume read it.
                part.chmod(0o755)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return folder


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """The lock ends with its process."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _write(file: Path, folder: Path) -> None:
    import torch
    from huggingface_hub import save_torch_state_dict
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    log(f"Converting {file.name} ({file.stat().st_size / 1e6:,.0f} MB) to safetensors, once.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.bfloat16, local_files_only=True
        )
    except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
        raise UnreadableGguf(f"{file.name} cannot be read as GGUF: {_first_line(error)}") from error
    # The written weights are no longer quantised.
    del model.config.quantization_config
    # A tied weight is written once, under its first name.
    weights = {name: tensor for name, tensor in model.state_dict().items() if name not in model.all_tied_weights_keys}
    save_torch_state_dict(weights, folder, max_shard_size=SHARD_SIZE)
    model.config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or error.__class__.__name__).splitlines()[0]
