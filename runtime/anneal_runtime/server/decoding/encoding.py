"""Texts to vectors: the mean of the last hidden states over the text's tokens, of length one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from anneal_runtime.server.decoding.lora import Adapter, AdapterRouter
from anneal_runtime.server.decoding.rows import GenerationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

MAX_BATCH_ROWS = 64
MAX_BATCH_TOKENS = 4096


class Encoder:
    """`model` gives `last_hidden_state`; adapters go through `router`, where the model can have any."""

    def __init__(self, model: nn.Module, router: AdapterRouter | None = None) -> None:
        self._model, self._router = model, router
        self._device = next(model.parameters()).device

    def encode(self, texts: list[list[int]], adapter: Adapter | None) -> NDArray[np.float32]:
        """[texts, size] for token lists, none empty."""
        width = max(map(len, texts))
        tokens = torch.tensor([ids + [0] * (width - len(ids)) for ids in texts], device=self._device)
        counts = torch.tensor([len(ids) for ids in texts], device=self._device)
        mask = torch.arange(width, device=self._device)[None, :] < counts[:, None]
        if self._router is not None and adapter is not None:
            with self._router.routing([adapter] * len(texts)):
                hidden = self._hidden(tokens, mask)
        else:
            hidden = self._hidden(tokens, mask)
        # Padding is replaced, not multiplied by zero: a NaN there would reach the sum.
        summed = hidden.float().masked_fill(~mask[:, :, None], 0.0).sum(dim=1)
        vectors = torch.nn.functional.normalize(summed, dim=-1).cpu().numpy()
        if not np.isfinite(vectors).all():
            raise GenerationFailed("The model gave numbers that are not finite.")
        return vectors

    def _hidden(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        output = self._model(input_ids=tokens, attention_mask=mask.long())
        return output.last_hidden_state  # type: ignore[no-any-return]


class EncodeRequest:
    """`on_done` is called once, from the decoding thread, with None or with the error; then `vectors` are there."""

    def __init__(
        self,
        encoder: Encoder,
        texts: list[list[int]],
        adapter: Adapter | None,
        on_done: Callable[[Exception | None], None],
    ) -> None:
        self._encoder, self._texts, self._adapter, self.on_done = encoder, texts, adapter, on_done
        # Shortest last: popping them off the end in batches of like lengths pads little.
        self._left = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        self.vectors: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(texts)
        self.cancelled = False

    def encode_next_batch(self) -> bool:
        """True when no batch is left."""
        batch: list[int] = []
        while self._left and len(batch) < MAX_BATCH_ROWS:
            width = len(self._texts[self._left[-1]])
            if batch and width * (len(batch) + 1) > MAX_BATCH_TOKENS:
                break
            batch.append(self._left.pop())
        vectors = self._encoder.encode([self._texts[index] for index in batch], self._adapter)
        for index, vector in zip(batch, vectors, strict=True):
            self.vectors[index] = vector
        return not self._left
