"""Texts to vectors: the mean of the last hidden states over the text's tokens, of length one.

A text longer than the context is read in windows, and the mean goes over the tokens of all windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from anneal_runtime.server.decoding.lora import Adapter, AdapterRouter
from anneal_runtime.server.decoding.rows import GenerationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

MAX_BATCH_ROWS = 64
MAX_BATCH_TOKENS = 4096
# A batch of so many tokens keeps the processor busy; beyond, a longer text waits if it would pad the others this much.
BUSY_BATCH_TOKENS = 512
MAX_PADDING = 0.05
SMALLEST_NORM = 1e-12


class Encoder:
    """`model` gives `last_hidden_state`; adapters go through `router`, where the model can have any."""

    def __init__(self, model: nn.Module, router: AdapterRouter | None = None) -> None:
        self._model, self._router = model, router
        self._device = next(model.parameters()).device

    def sums(self, windows: list[list[int]], adapter: Adapter | None) -> NDArray[np.float32]:
        """[windows, size]: the sum of the last hidden states of each window. No window is empty."""
        width = max(map(len, windows))
        tokens = torch.tensor([ids + [0] * (width - len(ids)) for ids in windows], device=self._device)
        counts = torch.tensor([len(ids) for ids in windows], device=self._device)
        mask = torch.arange(width, device=self._device)[None, :] < counts[:, None]
        if self._router is not None and adapter is not None:
            with self._router.routing([adapter] * len(windows)):
                hidden = self._hidden(tokens, mask)
        else:
            hidden = self._hidden(tokens, mask)
        # Padding is replaced, not multiplied by zero: a NaN there would reach the sum.
        sums: NDArray[np.float32] = hidden.float().masked_fill(~mask[:, :, None], 0.0).sum(dim=1).cpu().numpy()
        if not np.isfinite(sums).all():
            raise GenerationFailed("The model gave numbers that are not finite.")
        return sums

    def _hidden(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        # Attention without a mask is faster.
        output = self._model(input_ids=tokens, attention_mask=None if mask.all() else mask.long())
        return output.last_hidden_state  # type: ignore[no-any-return]


class SumsWindows(Protocol):
    def sums(self, windows: list[list[int]], adapter: Any) -> NDArray[np.float32]:
        """[windows, size]: the sum of the last hidden states of each window. No window is empty."""


class EncodeRequest:
    """`on_done` is called once, from the decoding thread, with None or with the error. After None, call `vectors`."""

    def __init__(
        self,
        encoder: SumsWindows,
        texts: list[list[list[int]]],
        adapter: Any,
        on_done: Callable[[Exception | None], None],
        account: str = "",
    ) -> None:
        """`texts` holds the windows of each text, at least one."""
        self.account = account
        self._encoder, self._adapter, self.on_done = encoder, adapter, on_done
        windows = [(index, window) for index, text in enumerate(texts) for window in text]
        # Shortest last: popping them off the end in batches of like lengths pads little.
        self._left = sorted(windows, key=lambda each: -len(each[1]))
        self._sums: list[NDArray[np.float32] | float] = [0.0] * len(texts)
        self.cancelled = False

    def vectors(self) -> list[NDArray[np.float32]]:
        """One of length one for each text. The length of a mean is that of its sum, so no division by the count."""
        sums = [np.asarray(each, dtype=np.float32) for each in self._sums]
        return [each / max(float(np.linalg.norm(each)), SMALLEST_NORM) for each in sums]

    def encode_next_batch(self) -> bool:
        """True when no batch is left."""
        batch: list[tuple[int, list[int]]] = []
        tokens = 0
        while self._left and len(batch) < MAX_BATCH_ROWS:
            width = len(self._left[-1][1])
            padded, tokens_with_it = width * (len(batch) + 1), tokens + width
            is_padded = tokens >= BUSY_BATCH_TOKENS and padded > (1 + MAX_PADDING) * tokens_with_it
            if batch and (padded > MAX_BATCH_TOKENS or is_padded):
                break
            batch.append(self._left.pop())
            tokens = tokens_with_it
        sums = self._encoder.sums([window for _, window in batch], self._adapter)
        for (index, _), each in zip(batch, sums, strict=True):
            self._sums[index] = self._sums[index] + each
        return not self._left
