"""A base whose linear layers hold 4 bits a weight, as QLoRA trains on: NF4, with quantised scales.

The adapter over it is an ordinary one. It is evaluated, served and merged over the base in its own number format.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anneal_runtime.model_source import LoadedModel, default_dtype, load_causal_lm

if TYPE_CHECKING:
    import torch

NF4 = "nf4"


def load_in_4bit(folder: Path, device: torch.device) -> LoadedModel:
    """Like load_causal_lm. Two loads of the same files give the same bytes."""
    _show_bitsandbytes()
    from transformers import BitsAndBytesConfig

    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=NF4,
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=default_dtype(device, folder),
    )
    loaded = load_causal_lm(folder, device, quantization=quantization)
    _compute_alike(loaded)
    return loaded


def _show_bitsandbytes() -> None:
    """Ends what the front file of this folder does. Libraries remember that the package was not there."""
    from peft import import_utils
    from transformers.utils import is_bitsandbytes_available

    if sys.modules.get("bitsandbytes", sys) is None:
        del sys.modules["bitsandbytes"]
    asked = (import_utils.is_bnb_available, import_utils.is_bnb_4bit_available, is_bitsandbytes_available)
    for remembers in asked:
        remembers.cache_clear()


def _compute_alike(loaded: LoadedModel) -> None:
    """Some CPUs would repack the weights at the first pass without a gradient, and round otherwise from then on: a
    validation would change the steps after it.
    """
    from bitsandbytes.nn import Linear4bit

    for module in loaded.model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False
