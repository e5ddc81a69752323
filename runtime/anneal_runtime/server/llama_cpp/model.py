"""A model in llama.cpp, and the one context in which it reads tokens."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from ctypes import POINTER, c_float, c_int8, c_int32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anneal_runtime.model_source import ModelUnavailable
from anneal_runtime.server.llama_cpp import library
from anneal_runtime.settings import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anneal_runtime.server.llama_cpp.adapter import LlamaAdapter

# Tokens of one call, and of one of its passes.
MOST_TOKENS, PASS_TOKENS = 2048, 512
# enum llama_flash_attn_type
FLASH_ATTENTION = 1


@dataclass(frozen=True)
class Piece:
    """Tokens of one sequence from this position on. The last `outputs` of them give results."""

    sequence: int
    position: int
    tokens: list[int]
    outputs: int


class LlamaModel:
    """Used by the decoding thread only, but for what says otherwise. Raises ModelUnavailable.

    A sequence holds the keys and values of one row. All of them share room for `most_cached` tokens.
    """

    def __init__(self, libraries: Path | None, file: Path, sequences: int, most_cached: int) -> None:
        self.library = library.load(libraries)
        self.handle = self.library.llama_model_load_from_file(
            str(file).encode(), self.library.llama_model_default_params()
        )
        if not self.handle:
            raise ModelUnavailable(f"llama.cpp cannot load {file.name}. The log of the model server says why.")
        self.vocabulary_size: int = self.library.llama_vocab_n_tokens(self.library.llama_model_get_vocab(self.handle))
        self.hidden_size: int = self.library.llama_model_n_embd(self.handle)
        self._context = self._new_context(sequences, most_cached)
        self._memory = self.library.llama_get_memory(self._context)
        self._free = list(range(sequences))
        # Other threads put here what they give back. The decoding thread frees it.
        self._left_sequences, self._left_adapters = deque[int](), deque[int]()
        # A pass and the loading of an adapter read the list of all adapters.
        self._lock = threading.Lock()
        self._batch = Batch()
        self._adapter: LlamaAdapter | None = None
        self._gives_hidden = False

    def _new_context(self, sequences: int, most_cached: int) -> int:
        params = self.library.llama_context_default_params()
        params.n_ctx, params.n_seq_max = most_cached, sequences
        params.n_batch, params.n_ubatch = MOST_TOKENS, PASS_TOKENS
        # 0: every token may give a result.
        params.n_outputs_max_per_seq = 0
        params.n_threads = params.n_threads_batch = thread_count()
        params.flash_attn_type = FLASH_ATTENTION
        # With a room for each sequence, those whose numbers have gaps between them would be computed one after another.
        params.kv_unified = True
        context: int | None = self.library.llama_init_from_model(self.handle, params)
        if context is None:
            raise MemoryError(f"llama.cpp has no memory for the keys and values of {most_cached} tokens")
        return context

    def take_sequences(self, count: int) -> list[int]:
        while self._left_sequences:
            sequence = self._left_sequences.popleft()
            self.library.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            self._free.append(sequence)
        if count > len(self._free):
            raise RuntimeError("llama.cpp has no free sequence")
        return [self._free.pop() for _ in range(count)]

    def leave(self, sequences: Iterable[int]) -> None:
        """From any thread: the sequences are free for others."""
        self._left_sequences.extend(sequences)

    def load_adapter(self, file: Path) -> int | None:
        """From any thread. None if llama.cpp does not take the file."""
        with self._lock:
            handle: int | None = self.library.llama_adapter_lora_init(self.handle, str(file).encode())
        return handle

    def leave_adapter(self, handle: int) -> None:
        """From any thread."""
        self._left_adapters.append(handle)

    def run(
        self, pieces: Sequence[Piece], adapter: LlamaAdapter | None, *, hidden: bool = False
    ) -> NDArray[np.float32]:
        """One row for each output, in the order of the pieces: logits, or the last hidden state."""
        with self._lock:
            self._set(adapter, hidden)
            return self._run(pieces, hidden)

    def _run(self, pieces: Sequence[Piece], hidden: bool) -> NDArray[np.float32]:
        size = self.hidden_size if hidden else self.vocabulary_size
        read = self.library.llama_get_embeddings if hidden else self.library.llama_get_logits
        results = np.empty((sum(piece.outputs for piece in pieces), size), dtype=np.float32)
        done = 0
        for part in _parts(pieces):
            code = self.library.llama_decode(self._context, self._batch.of(part))
            if code != 0:
                raise RuntimeError(f"llama_decode failed with code {code}")
            outputs = sum(piece.outputs for piece in part)
            if outputs:
                results[done : done + outputs] = np.ctypeslib.as_array(read(self._context), (outputs, size))
                done += outputs
        return results

    def _set(self, adapter: LlamaAdapter | None, hidden: bool) -> None:
        if adapter is not self._adapter:
            handles = (c_void_p * 1)(adapter.handle if adapter else None)
            self.library.llama_set_adapters_lora(self._context, handles, 1 if adapter else 0, (c_float * 1)(1.0))
            # Holds the adapter, which must not be freed while it is set.
            self._adapter = adapter
        while self._left_adapters:
            self.library.llama_adapter_lora_free(self._left_adapters.popleft())
        if hidden is not self._gives_hidden:
            self.library.llama_set_embeddings(self._context, hidden)
            self._gives_hidden = hidden


def _parts(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces in lists of at most MOST_TOKENS tokens."""
    part, room = list[Piece](), MOST_TOKENS
    for piece in pieces:
        start, count = 0, len(piece.tokens)
        while start < count:
            end = min(count, start + room)
            outputs = max(0, end - max(start, count - piece.outputs))
            part.append(Piece(piece.sequence, piece.position + start, piece.tokens[start:end], outputs))
            room -= end - start
            start = end
            if room == 0:
                yield part
                part, room = [], MOST_TOKENS
    if part:
        yield part


class Batch:
    """The arrays of a llama_batch."""

    def __init__(self) -> None:
        self._tokens, self._positions, self._sequences = (np.zeros(MOST_TOKENS, dtype=np.int32) for _ in range(3))
        self._counts = np.ones(MOST_TOKENS, dtype=np.int32)
        self._outputs = np.zeros(MOST_TOKENS, dtype=np.int8)
        # Each token has a list of sequences: here the address of its one place in `_sequences`.
        self._lists = self._sequences.ctypes.data + 4 * np.arange(MOST_TOKENS, dtype=np.uint64)
        self._batch = library.Batch(
            n_tokens=0,
            token=_pointer(self._tokens, c_int32),
            pos=_pointer(self._positions, c_int32),
            n_seq_id=_pointer(self._counts, c_int32),
            seq_id=_pointer(self._lists, POINTER(c_int32)),
            logits=_pointer(self._outputs, c_int8),
        )

    def of(self, pieces: Sequence[Piece]) -> library.Batch:
        """Valid until the next call."""
        at = 0
        for piece in pieces:
            end = at + len(piece.tokens)
            self._tokens[at:end] = piece.tokens
            self._positions[at:end] = range(piece.position, piece.position + len(piece.tokens))
            self._sequences[at:end] = piece.sequence
            self._outputs[at:end] = 0
            self._outputs[end - piece.outputs : end] = 1
            at = end
        self._batch.n_tokens = at
        return self._batch


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(c_void_p(array.ctypes.data), POINTER(kind))
