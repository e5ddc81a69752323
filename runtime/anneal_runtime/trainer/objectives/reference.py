"""The model as it was at the start of the job, and the log-probabilities that it gives to the answers.

For a new adapter that is the base, as the adapter's second factor begins as zeros; for a continued one it is the
adapter's start, not the bare base.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file

from anneal_runtime.trainer.adapter import trainable
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks

REFERENCE_FILE = "reference.safetensors"
START_FILE = "start_adapter_model.safetensors"
# Sequences that are planned together.
AT_ONCE = 256


class StartingModel:
    """Make it before the model trains and before a checkpoint is loaded. With `is_kept` checkpoints hold it: a later
    attempt of a continued adapter cannot make it again.
    """

    def __init__(self, model: PeftModel, *, is_kept: bool = False) -> None:
        self._model, self._is_kept = model, is_kept
        parameters = trainable(model)
        self._start = [parameter.detach().clone() for parameter in parameters.values()]
        # The second factors of a new adapter are zeros: without the adapter the model is the same and faster.
        second = [parameter for name, parameter in parameters.items() if ".lora_B." in name]
        self._is_base = bool(second) and not any(bool(parameter.any()) for parameter in second)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within, the model is as it was at the start."""
        if self._is_base:
            with self._model.disable_adapter():
                yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def save(self, folder: Path) -> None:
        if self._is_kept:
            kept = dict(zip(trainable(self._model), self._start, strict=True))
            save_file({name: value.cpu() for name, value in kept.items()}, folder / START_FILE)

    def load(self, folder: Path) -> None:
        if self._is_kept and (folder / START_FILE).exists():
            self._is_base = False
            stored = load_file(folder / START_FILE)
            self._start = [
                stored[name].to(own.device) for name, own in zip(trainable(self._model), self._start, strict=True)
            ]

    def _swap(self) -> None:
        for number, parameter in enumerate(trainable(self._model).values()):
            parameter.data, self._start[number] = self._start[number], parameter.data


class ReferenceLogps:
    """What the model at the start of the job gives to the answers of some rows: sums over the learned tokens of each
    sequence, not a number for rows that the run does not visit. `logps` is None until they are computed or loaded.
    """

    def __init__(self, model: StartingModel, forward: ForwardPass, rows: EncodedRows) -> None:
        self.model = model
        self.logps: torch.Tensor | None = None
        self._forward, self._rows = forward, rows

    def of(self, sequences: list[int], device: torch.device) -> torch.Tensor:
        assert self.logps is not None
        return self.logps[sequences].to(device)

    def compute(self, rows: list[int], ranks: Ranks | None) -> None:
        """Each rank takes a share of the rows."""
        sequences = self._rows.sequences(rows)
        self.logps = torch.full((self._rows.sequence_count,), torch.nan)
        with self.model.in_place():
            for first in range(0, len(sequences), AT_ONCE):
                chunk = sequences[first : first + AT_ONCE]
                self.logps[chunk] = self._chunk(chunk, ranks)

    def _chunk(self, sequences: list[int], ranks: Ranks | None) -> torch.Tensor:
        if ranks is None:
            return self._forward.answer_logps(self._rows, sequences).cpu()
        mine = ranks.share([self._rows.length(sequence) for sequence in sequences])
        logps = torch.zeros(len(sequences))
        if mine:
            logps[mine] = self._forward.answer_logps(self._rows, [sequences[position] for position in mine]).cpu()
        return torch.tensor(ranks.sum_of(logps.tolist()))


def load_references(folder: Path, references: dict[str, ReferenceLogps]) -> None:
    """A later attempt reads the numbers of the first one: another card would round differently."""
    if not references:
        return
    stored = load_file(folder / REFERENCE_FILE)
    for name, reference in references.items():
        reference.logps = stored[name]


def save_references(folder: Path, references: dict[str, ReferenceLogps]) -> None:
    computed = {name: reference.logps for name, reference in references.items() if reference.logps is not None}
    if computed:
        save_file(computed, folder / REFERENCE_FILE)
