"""The rows of a run: those to train on, in their order, and those to validate on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anneal_runtime.log import log
from anneal_runtime.model_source import LoadedModel, context_length
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.held_out import HeldOutRows, load_held_out, rows_wanted
from anneal_runtime.trainer.rows import EncodedRows, count_rows, encode_rows
from anneal_runtime.trainer.training_args import Note, TrainingArgs

NO_HELD_OUT_ROWS = (
    'This job has no held-out rows, so keep: "best" and early_stopping have no effect. Send eval_data, or at least 200 '
    "distinct rows."
)


@dataclass(frozen=True)
class TrainingData:
    rows: EncodedRows
    order: RowOrder
    total_steps: int
    held_out: HeldOutRows | None


def load_training_data(
    path: Path, held_out_path: Path | None, args: TrainingArgs, base: LoadedModel, note: Note
) -> TrainingData:
    """`held_out_path` is None without rows that are not trained on."""
    order = RowOrder(count_rows(path), args.rows_per_step, args.seed)
    total_steps, context = args.total_steps(order.steps_per_epoch), context_length(base.model.config)
    max_length = min(args.max_length, context)
    if max_length < args.max_length:
        note("max_length_cut", f"max_length {args.max_length} was cut to the model's context of {context} tokens.")
    encoder = TextEncoder(base.tokenizer, special_tokens=args.special_tokens)
    rows = encode_rows(path, encoder, max_length, order.visited(total_steps))
    if rows.cut_count:
        advice = f"Raise max_length (the model takes up to {context})" if max_length < context else "Shorten them"
        cut = f"{rows.cut_count} rows are longer than {max_length} tokens and were cut."
        note("rows_cut", f"{cut} {advice}, or split them.")
    held_out = _load_held_out(held_out_path, args, total_steps, encoder, max_length, note)
    return TrainingData(rows, order, total_steps, held_out)


def _load_held_out(
    path: Path | None, args: TrainingArgs, total_steps: int, encoder: TextEncoder, max_length: int, note: Note
) -> HeldOutRows | None:
    if path is None:
        if args.decides_by_validation:
            note("validation_impossible", NO_HELD_OUT_ROWS)
        return None
    every = args.steps_between_validations(total_steps)
    try:
        wanted = rows_wanted(every * args.rows_per_step, args.decides_by_validation)
        held_out = load_held_out(path, encoder, max_length, wanted)
    except DataError as error:
        note("validation_impossible", f"The held-out rows are not used while training. {error}")
        return None
    log(f"Validating every {every} steps on {len(held_out.used)} of {held_out.available} held-out rows")
    return held_out
