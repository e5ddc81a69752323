"""Models in GGUF, the format of llama.cpp: read once and kept as an ordinary folder of safetensors in bfloat16.

The weights come out as llama.cpp's file has them: quantised numbers, written in full.
"""

from __future__ import annotations

import fcntl
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from anneal_runtime.model_source import ModelUnavailable, first_line

# Counts the changes of what is written, so that folders of another number are not used again.
WRITER = 2
SHARD_SIZE = "5GB"


def converted(
    sha256: str, cache: Path, find_file: Callable[[], Path], tell: Callable[[str], None], *, keeps_file: bool = False
) -> Path:
    """The folder of the GGUF file with this sha256. One process writes it. Raises ModelUnavailable.

    @param keeps_file: moves the file into the folder, where llama.cpp finds it
    """
    folder = cache / f"gguf-{sha256}-{WRITER}"
    if folder.is_dir():
        return folder
    with _alone(cache, folder.name, tell):
        if not folder.is_dir():
            file = find_file()
            # Beside its place, so that the rename is one step.
            part = Path(tempfile.mkdtemp(dir=cache, prefix=".part-"))
            try:
                size = f"{file.stat().st_size / 1e6:,.0f} MB"
                tell(f"Converting {file.name} ({size}) to safetensors, once.")
                _write(file, part)
                if keeps_file:
                    shutil.move(file, part / file.name)
                # Other users of a shared volume read it.
                part.chmod(0o755)
                for each in part.iterdir():
                    each.chmod(0o644)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    tell("The model is converted, and is being loaded.")
    return folder


@contextmanager
def _alone(cache: Path, name: str, tell: Callable[[str], None]) -> Iterator[None]:
    """The lock ends with its process."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = (cache / f"{name}.lock").open("w")
    except OSError as error:
        raise ModelUnavailable(
            f"The model is not in {cache}, which cannot be written: {error.strerror}. Set ANNEAL_MODEL_CACHE to a "
            "folder that holds the model or can be written: see anneal models pull."
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Another program of this machine is fetching the model.")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _write(file: Path, folder: Path) -> None:
    import torch
    from huggingface_hub import save_torch_state_dict
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with _read_once():
            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(
                file.parent, gguf_file=file.name, dtype=torch.bfloat16, local_files_only=True
            )
    except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
        raise ModelUnavailable(f"{file.name} cannot be read as GGUF: {first_line(error)}") from error
    # The written weights are no longer quantised.
    del model.config.quantization_config
    # A tied weight is written once, under its first name.
    weights = {name: tensor for name, tensor in model.state_dict().items() if name not in model.all_tied_weights_keys}
    save_torch_state_dict(weights, folder, max_shard_size=SHARD_SIZE)
    model.config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def _read_once() -> Iterator[None]:
    """transformers reads the file for the tokenizer, for the config and for the weights, and looks up the names of the
    tensors for each module of the model anew. Here it gets the results of the first time: 8 s instead of 22 s.
    """
    import gguf
    import numpy as np

    class Reader(gguf.GGUFReader):
        def __setattr__(self, name: str, value: Any) -> None:
            # The reader takes a million slices of the file, and a slice of a memmap costs four times as much.
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    once = {"GGUFReader": functools.cache(Reader), "get_tensor_name_map": functools.cache(gguf.get_tensor_name_map)}
    originals = {name: getattr(gguf, name) for name in once}
    _put(gguf, once)
    try:
        yield
    finally:
        _put(gguf, originals)


def _put(module: ModuleType, members: dict[str, Any]) -> None:
    for name, member in members.items():
        setattr(module, name, member)
