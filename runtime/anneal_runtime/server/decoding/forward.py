"""One forward pass over the next tokens of some rows: what engines do differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.lora import AdapterRouter

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from anneal_runtime.server.decoding.rows import Row


class Cache(Protocol):
    """Keys and values of the rows of a batch."""

    def append(self, other: Any) -> None:
        """Adds the other's rows below. The other is not used again."""

    def part(self, rows: list[int]) -> Any:
        """Another cache with these rows, in this order. `keep` drops them from this one next."""

    def keep(self, kept: list[int]) -> list[int]:
        """Drops every row but these (ascending). Returns the new order: each row's old index."""


class Forward(Protocol):
    # Numbers in a row of logits.
    vocabulary_size: int

    def new_cache(self) -> Any:
        """A Cache without rows; the first pass adds them."""

    def feed(self, rows: list[Row], chunks: list[list[int]], cache: Any, kept: int) -> torch.Tensor:
        """Reads a chunk of tokens of each row, which may be empty. The chunks end in the same column.

        Returns the logits of the last `kept` columns, [rows, kept, vocabulary]. Numbers of padding have no meaning.
        """


class TorchForward:
    def __init__(self, model: PreTrainedModel, router: AdapterRouter) -> None:
        self._model, self._router = model, router
        self.vocabulary_size: int = model.config.get_text_config().vocab_size

    def new_cache(self) -> RowCache:
        return RowCache()

    def feed(self, rows: list[Row], chunks: list[list[int]], cache: RowCache, kept: int) -> torch.Tensor:
        width, device = max(map(len, chunks)), self._model.device
        tokens = torch.tensor([[0] * (width - len(chunk)) + chunk for chunk in chunks], device=device)
        counts = torch.tensor([len(chunk) for chunk in chunks], device=device)[:, None]
        cached = torch.tensor([row.cached for row in rows], device=device)[:, None]
        offsets = torch.arange(width, device=device)[None, :] - (width - counts)
        mask = cache.extend_mask(offsets >= 0)
        with self._router.routing([row.request.adapter for row in rows]):
            output = self._model(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=(cached + offsets).clamp(min=0),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=kept,
            )
        logits: torch.Tensor = output.logits
        return logits
