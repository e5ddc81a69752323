"""Whether the sequences of a pass are packed, that is, laid end to end with positions that restart, or padded.

transformers keeps packed sequences apart by their positions. Its flash kernels compute each sequence alone. Its other
kernels compute all pairs of tokens of a line and mask most of them, so that long lines cost more than they save.
"""

from __future__ import annotations

import inspect
import math
import sys
from typing import TYPE_CHECKING

import torch

from anneal_runtime.log import log
from anneal_runtime.trainer.adapter import base_of
from anneal_runtime.trainer.forward import autocast, overhead_tokens
from anneal_runtime.trainer.training_args import Note

if TYPE_CHECKING:
    from peft import PeftModel

# A value for tests and for `replay`; a job has "auto", "off" or none.
ALWAYS = "always"
PROBE_TOKENS = 24
# Rounding of another layout, as a share of the largest logit. A wrong position changes far more.
ROUNDING = {torch.float32: 1e-4}
ROUNDING_OF_HALF = 5e-2


def packed_line_tokens(asked: str | None, model: PeftModel, note: Note) -> int | None:
    """The most tokens of a line of packed sequences; None for padded ones. A pure function of model, device and
    `asked`: every attempt of a job has the same layout.
    """
    if asked in (None, "off"):
        return None
    device = next(model.parameters()).device
    if asked != ALWAYS and device.type == "cpu":
        note("rows_padded", "Rows are padded, not packed: on a CPU packing saves no time.")
        return None
    if not keeps_apart(model):
        note("rows_padded", "Rows are padded, not packed: the attention of this model does not keep packed rows apart.")
        return None
    most = _line_tokens(model, device)
    log(f"Rows are packed, up to {most} tokens in a line")
    return most


def _line_tokens(model: PeftModel, device: torch.device) -> int:
    """Where the masked pairs of a longer line cost as much as the passes that it saves."""
    base = base_of(model)
    if str(base.config._attn_implementation).startswith("flash_attention"):
        return sys.maxsize
    width = int(base.get_input_embeddings().weight.size(1))
    # A line of n tokens takes the time of n * (1 + n / (2 * width)) tokens without attention, and that of a pass.
    return math.isqrt(2 * width * overhead_tokens(model, device))


def keeps_apart(model: PeftModel) -> bool:
    """Tries it with two short sequences. Another first one must change nothing in the second, bit for bit, and the
    second must have the logits of a padded pass. A list of model types would miss every new one.
    """
    base = base_of(model)
    if "position_ids" not in inspect.signature(base.forward).parameters:
        return False
    device, vocabulary = next(model.parameters()).device, int(base.get_input_embeddings().weight.size(0))
    first, other, second = (
        torch.arange(start, start + PROBE_TOKENS, device=device) % vocabulary
        for start in (vocabulary // 2, vocabulary // 3, vocabulary // 4)
    )
    positions = torch.arange(PROBE_TOKENS, device=device).repeat(2).unsqueeze(0)

    def logits(tokens: torch.Tensor, **places: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = model(input_ids=tokens, use_cache=False, **places).logits
        return found.reshape(2, PROBE_TOKENS, -1)[1].float()

    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), autocast(model):
            packed, changed = (
                logits(torch.cat([neighbour, second]).unsqueeze(0), position_ids=positions)
                for neighbour in (first, other)
            )
            padded = logits(torch.stack([first, second]))
    finally:
        model.train(was_training)
    allowed = ROUNDING.get(base.dtype, ROUNDING_OF_HALF) * float(padded.abs().max())
    return torch.equal(packed, changed) and float((packed - padded).abs().max()) <= allowed
