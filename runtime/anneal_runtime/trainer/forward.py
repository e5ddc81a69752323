"""Forward passes over sequences of rows: padded or packed microbatches, and logits only where a target is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.row_sequences import NOT_LEARNED
from anneal_runtime.trainer.adapter import base_of
from anneal_runtime.trainer.batches import pack_microbatches, plan_microbatches
from anneal_runtime.trainer.memory import in_parts
from anneal_runtime.trainer.repeatable import avoid_cudnn_attention
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.answer_form import AnswerForm

# Fixed cost of one more pass, in tokens. On a CPU this is Python.
CPU_OVERHEAD_TOKENS = 48
# On a GPU these are kernel launches, a tenth of a second for any model. Small models compute more tokens in that time.
GPU_OVERHEAD_TOKENS_TIMES_WEIGHTS = 5_000_000_000_000
LEAST_GPU_OVERHEAD_TOKENS, MOST_GPU_OVERHEAD_TOKENS = 512, 8192
# A microbatch may always be this large; beyond, it stays within what the caller's batch_size would need anyway.
COMFORTABLE_TOKENS = {"cuda": 8192, "cpu": 4096}
# Few lines stay in a CPU's cache, many are fewer kernels on a GPU.
ENTROPY_LINES = 64


@dataclass(frozen=True)
class Microbatch:
    """`tokens` has a line for each sequence, or one line for all if they are packed; then `position_ids` restart at 0
    with each sequence. The token at each of `positions` predicts a target; `cells` are the same places in `shape`.
    """

    tokens: torch.Tensor
    position_ids: torch.Tensor | None
    positions: torch.Tensor
    targets: torch.Tensor
    # [sequences, positions]
    shape: tuple[int, int]
    cells: torch.Tensor


@dataclass(frozen=True)
class TokenLogps:
    """[sequences, positions]: the log-probability of each learned token at the position that predicts it, else 0.
    `entropy` is the sum over the learned tokens; 0 where nobody asked.
    """

    values: torch.Tensor
    is_learned: torch.Tensor
    entropy: torch.Tensor


class ForwardPass:
    def __init__(
        self,
        model: PeftModel,
        *,
        line_tokens: int | None = None,
        temperature: float = 1.0,
        comfortable_tokens: int | None = None,
        form: AnswerForm | None = None,
    ) -> None:
        """`line_tokens`: sequences are packed, at most so many tokens end to end (packing.py); None pads them.
        `temperature` divides the logits of log-probabilities, for answers that were sampled with it. A pass may always
        have `comfortable_tokens`; None for what the device takes. What `form` forbids has no probability.
        """
        self.form = form
        self._model, self._line_tokens, self._temperature = model, line_tokens, temperature
        self.device = next(model.parameters()).device
        avoid_cudnn_attention(self.device)
        self._overhead_tokens = overhead_tokens(model, self.device)
        usual = COMFORTABLE_TOKENS[self.device.type]
        self._comfortable_tokens = usual if comfortable_tokens is None else comfortable_tokens
        self._head = _SelectedPositions(model)

    def token_budget(self, longest: int, batch_size: int) -> int:
        """Never more than a batch of the longest sequences takes, which the caller declared to fit by `batch_size`."""
        return max(batch_size * longest, self._comfortable_tokens)

    def token_count(self, lengths: Sequence[int]) -> int:
        """What one pass over sequences of these lengths computes."""
        return len(lengths) * max(lengths) if self._line_tokens is None else sum(lengths)

    def plan(self, token_counts: Sequence[int], token_budget: int) -> list[list[int]]:
        """Groups of positions 0..n-1, each for one pass."""
        if self._line_tokens is None:
            return plan_microbatches(token_counts, token_budget, self._overhead_tokens)
        return pack_microbatches(token_counts, min(token_budget, self._line_tokens))

    def collate(self, rows: EncodedRows, indices: list[int]) -> Microbatch:
        """Sequences padded on the right need no mask: causal attention sees no padding behind a token."""
        lengths = [rows.length(index) for index in indices]
        width = max(lengths)
        cell_starts = range(0, len(indices) * width, width)
        is_padded = self._line_tokens is None
        starts = cell_starts if is_padded else list(accumulate(lengths, initial=0))[:-1]
        tokens = torch.zeros(self.token_count(lengths), dtype=torch.long)
        positions, cells, targets = [], [], []
        for index, start, cell_start in zip(indices, starts, cell_starts, strict=True):
            row, labels = rows.tokens(index), rows.labels(index)
            learned = labels != NOT_LEARNED
            tokens[start : start + len(row)] = row
            places = learned.nonzero().squeeze(1)
            positions.append(places + start)
            cells.append(places + cell_start)
            targets.append(labels[learned])
        at, shape = self._to_device(torch.cat(positions)), (len(indices), width)
        aims = self._to_device(torch.cat(targets))
        if is_padded:
            return Microbatch(self._to_device(tokens.view(shape)), None, at, aims, shape, at)
        restarting = torch.cat([torch.arange(length) for length in lengths])
        line, position_ids = (self._to_device(part.unsqueeze(0)) for part in (tokens, restarting))
        return Microbatch(line, position_ids, at, aims, shape, self._to_device(torch.cat(cells)))

    def logits(self, batch: Microbatch) -> torch.Tensor:
        """In fp32, a line for each target of the batch."""
        logits: torch.Tensor
        places = {} if batch.position_ids is None else {"position_ids": batch.position_ids}
        with autocast(self._model), self._head.only(batch.positions):
            logits = self._model(input_ids=batch.tokens, use_cache=False, **places).logits
        logits = logits.view(-1, logits.size(-1))
        if len(logits) != len(batch.targets):  # a model whose output layer could not be told
            logits = logits.index_select(0, batch.positions)
        return logits.float()

    def token_logps(self, rows: EncodedRows, sequences: list[int], *, tells_entropy: bool = False) -> TokenLogps:
        batch = self.collate(rows, sequences)
        logits = self.logits(batch)
        if self._temperature != 1:
            logits = logits / self._temperature
        if self.form is not None:
            forbidden = self.form.forbidden(rows, sequences, logits.shape[-1])
            logits = logits.masked_fill(forbidden.to(logits.device), -torch.inf)
        logps = -cross_entropy(logits, batch.targets, reduction="none")
        values = logps.new_zeros(batch.shape).view(-1).index_copy(0, batch.cells, logps)
        is_learned = torch.zeros_like(values, dtype=torch.bool).index_fill(0, batch.cells, True)
        # Costs as much as the log-probabilities do.
        entropy = entropy_sum(logits) if tells_entropy else logits.new_zeros(())
        return TokenLogps(values.view(batch.shape), is_learned.view(batch.shape), entropy)

    def answer_logps(self, rows: EncodedRows, sequences: list[int]) -> torch.Tensor:
        """Sums over the learned tokens of each sequence, without gradient and without dropout."""
        return torch.stack([logps.sum() for logps in self.answer_token_logps(rows, sequences)])

    def answer_token_logps(
        self, rows: EncodedRows, sequences: list[int], pulse: Callable[[], None] = lambda: None
    ) -> list[torch.Tensor]:
        """Of the learned tokens of each sequence, without gradient and without dropout. `pulse` is called before each
        pass; what it raises ends the work.
        """
        found: dict[int, torch.Tensor] = {}

        def run(part: list[int]) -> None:
            pulse()
            tokens = self.token_logps(rows, part)
            for sequence, logps, learned in zip(part, tokens.values, tokens.is_learned, strict=True):
                found[sequence] = logps[learned]

        lengths = [rows.length(sequence) for sequence in sequences]
        was_training = self._model.training
        self._model.eval()
        try:
            with torch.no_grad():
                for group in self.plan(lengths, self._comfortable_tokens):
                    in_parts([sequences[position] for position in group], run, self.device)
        finally:
            self._model.train(was_training)
        return [found[sequence] for sequence in sequences]

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor


def entropy_sum(logits: torch.Tensor) -> torch.Tensor:
    """Of the distributions on the lines of `logits`, in nats, without gradient. Line by line, so that it takes little
    memory.
    """
    total = logits.new_zeros(())
    with torch.no_grad():
        for lines in torch.split(logits, ENTROPY_LINES):
            logps = lines.log_softmax(-1)
            total -= (logps.exp() * logps).sum()
    return total


class _SelectedPositions:
    """Makes the output layer see only the positions that predict a target: the rest of the vocabulary-wide logits,
    often the largest tensor of a pass, is never computed. Scaling that a model applies after the layer still happens.
    """

    def __init__(self, model: PeftModel) -> None:
        self._positions: torch.Tensor | None = None
        output_layer = base_of(model).get_output_embeddings()
        if output_layer is not None:
            output_layer.register_forward_pre_hook(self._select)

    @contextmanager
    def only(self, positions: torch.Tensor) -> Iterator[None]:
        self._positions = positions
        try:
            yield
        finally:
            self._positions = None

    def _select(self, _layer: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self._positions is None:
            return None
        hidden = inputs[0]
        return (hidden.reshape(-1, hidden.size(-1)).index_select(0, self._positions).unsqueeze(0), *inputs[1:])


def autocast(model: PeftModel) -> torch.autocast:
    """Over a base in bfloat16 activations are bfloat16, too; the adapter itself stays in float32."""
    weight = base_of(model).get_input_embeddings().weight
    return torch.autocast(weight.device.type, dtype=torch.bfloat16, enabled=weight.dtype is torch.bfloat16)


def overhead_tokens(model: torch.nn.Module, device: torch.device) -> int:
    """What one more pass costs, in tokens."""
    if device.type == "cpu":
        return CPU_OVERHEAD_TOKENS
    weights = sum(parameter.numel() for parameter in model.parameters())
    tokens = GPU_OVERHEAD_TOKENS_TIMES_WEIGHTS // weights
    return min(max(tokens, LEAST_GPU_OVERHEAD_TOKENS), MOST_GPU_OVERHEAD_TOKENS)
