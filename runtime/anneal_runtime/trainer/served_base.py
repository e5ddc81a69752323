"""What a model that was trained over a 4-bit base becomes over the base that model servers load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anneal_runtime.model_source import LoadedModel, load_causal_lm
from anneal_runtime.trainer.adapter import load_adapter
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.held_out import evenly_spaced
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.training_args import Note

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.training_run import TrainingRun

MOST_SEQUENCES = 64


def over_served_base(run: TrainingRun, quantised: LoadedModel, adapter: Path, note: Note) -> PeftModel:
    """The saved adapter over the base in its own number format. Notes what that changes. Ends the run's own model."""
    # Prompts have no answers: those that were sampled last stand for them.
    is_sampled = run.plan.rollouts is not None
    rows = run.optimizer_step.objective.rows if is_sampled else (run.data.held_out or run.data.train).rows
    sequences = evenly_spaced(rows.sequence_count, MOST_SEQUENCES)
    trained = _mean_loss(run.model, rows, sequences) if sequences else 0.0
    device = next(run.model.parameters()).device
    _free(run.model)
    model = load_adapter(load_causal_lm(quantised.folder, device).model, adapter)
    if not sequences:
        return model
    note(
        "served_base_differs",
        f"The training had its base in 4 bits. On {len(sequences)} rows the tuned model's loss is {trained:.4f} there, "
        f"and {_mean_loss(model, rows, sequences):.4f} over the base as it is served.",
    )
    return model


@torch.no_grad()
def _mean_loss(model: PeftModel, rows: EncodedRows, sequences: list[int]) -> float:
    """Over the learned tokens of the sequences."""
    learned = sum(rows.label_count(sequence) for sequence in sequences)
    return -float(ForwardPass(model).answer_logps(rows, sequences).sum()) / max(learned, 1)


def _free(model: PeftModel) -> None:
    """A GPU has seldom room for both."""
    for parameter in model.parameters():
        parameter.data = parameter.data.new_empty(0)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
