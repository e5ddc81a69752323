"""The rows of a run: those to train on, in their order, and those to validate on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from anneal_runtime.log import log
from anneal_runtime.model_source import LoadedModel, context_length
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.answer_rows import encode_answer_rows, encode_rollouts, read_answer_rows
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.failures import DataError, RowsRefused
from anneal_runtime.trainer.held_out import HeldOutPart, evenly_spaced, held_out_parts, rows_wanted
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.mixed_order import MixedOrder, Sources
from anneal_runtime.trainer.prompts import Prompt, encode_prompts
from anneal_runtime.trainer.rows import EncodedRows, count_rows, encode_rows, read_sources
from anneal_runtime.trainer.training_args import Note, TrainingArgs

NO_HELD_OUT_ROWS = (
    'This job has no held-out rows, so keep: "best" and early_stopping have no effect. Send eval_data, or at least 200 '
    "distinct rows."
)


@dataclass(frozen=True)
class DataRows:
    rows: EncodedRows
    max_length: int
    # The judgement of each row, for a method that has judged rows.
    is_good: list[bool] = field(default_factory=list)
    # The prompt of each row, for a method that samples the answers.
    prompts: list[Prompt] = field(default_factory=list)


@dataclass(frozen=True)
class HeldOutRows(DataRows):
    """`used` are the rows of every validation of a run. With several data sets `parts` are those of each set that has
    held-out rows.
    """

    used: list[int] = field(default_factory=list)
    parts: list[HeldOutPart] = field(default_factory=list)


@dataclass(frozen=True)
class TrainingData:
    train: DataRows
    order: RowOrder
    total_steps: int
    held_out: HeldOutRows | None

    @property
    def rows(self) -> EncodedRows:
        return self.train.rows

    @property
    def visited(self) -> list[int]:
        """The rows that the run trains on."""
        visited = self.order.visited(self.total_steps)
        return list(range(len(self.rows))) if visited is None else sorted(visited)


def load_training_data(
    path: Path,
    held_out_path: Path | None,
    args: TrainingArgs,
    method: Method,
    base: LoadedModel,
    note: Note,
    sources: Sources | None = None,
    *,
    samples: bool = False,
) -> TrainingData:
    """`held_out_path` is None without rows that are not trained on, `sources` for rows of one data set. `samples`: the
    rows are prompts alone.
    """
    context = context_length(base.model.config)
    max_length = min(args.max_length, context)
    if max_length < args.max_length:
        note("max_length_cut", f"max_length {args.max_length} was cut to the model's context of {context} tokens.")
    encoder = TextEncoder(base.tokenizer, special_tokens=args.special_tokens)
    overlong = method.overlong(args.overlong)
    if args.overlong and method.type == "reinforcement" and not samples:
        note("argument_ignored", "overlong has no effect on recorded answers: those that are too long are cut.")
    if _keeps_places(method, overlong):
        order = _order(path, None, args, method, sources)
        visited = order.visited(args.total_steps(order.steps_per_epoch))
        train = DataRows(encode_rows(path, encoder, max_length, visited, train_on=method["train_on"]), max_length)
    else:
        train = _all_rows(path, encoder, method, max_length, overlong, samples)
        order = _order(path, train.rows, args, method, sources)
    total_steps = args.total_steps(order.steps_per_epoch)
    _tell_long_rows(train, context, note)
    _tell_mix(order, total_steps, note)
    held_out = _load_held_out(
        held_out_path, args, method, total_steps, encoder, max_length, overlong, note, sources, samples
    )
    return TrainingData(train, order, total_steps, held_out)


def _order(
    path: Path, kept: EncodedRows | None, args: TrainingArgs, method: Method, sources: Sources | None
) -> RowOrder:
    """The order of the rows of a file that are kept, or of all its rows when None."""
    updates = method.updates_per_batch
    if sources is None:
        count = count_rows(path) if kept is None else len(kept)
        return RowOrder(count, args.rows_per_step, args.seed, updates_per_batch=updates)
    of_rows = _sources_of(path, kept)
    if of_rows is None:
        raise DataError("Rows of several data sets do not say which set they are of.")
    missing = [name for number, name in enumerate(sources.names) if number not in set(of_rows)]
    if missing:
        raise DataError(f"No row of the data set {missing[0]} is left to train on: all are longer than max_length.")
    return MixedOrder(sources, of_rows, args.rows_per_step, args.seed, updates_per_batch=updates)


def _sources_of(path: Path, kept: EncodedRows | None) -> list[int] | None:
    of_lines = read_sources(path)
    return of_lines if of_lines is None or kept is None else kept.of_kept(of_lines)


def _tell_mix(order: RowOrder, total_steps: int, note: Note) -> None:
    epochs = order.epochs(total_steps)
    if epochs:
        told = ", ".join(f"{name} {passes:.2f} times" for name, passes in epochs.items())
        note("data_sets_mixed", f"In {total_steps} steps the training visits the rows of {told}.")


def _keeps_places(method: Method, overlong: str) -> bool:
    """Whether each line of a file is a row of the run, so that only the lines that the run visits are encoded."""
    return method.type == "supervised" and overlong == "cut"


def _all_rows(
    path: Path, encoder: TextEncoder, method: Method, max_length: int, overlong: str, samples: bool
) -> DataRows:
    if samples:
        rows, prompts = encode_prompts(path, encoder, max_length, overlong)
        return DataRows(rows, max_length, prompts=prompts)
    if method.type == "supervised":
        rows = encode_rows(path, encoder, max_length, overlong=overlong, train_on=method["train_on"])
        return DataRows(rows, max_length)
    if method.type == "reinforcement":
        return DataRows(encode_rollouts(path, encoder, max_length), max_length)
    rows, is_good = encode_answer_rows(
        read_answer_rows(path),
        encoder,
        max_length,
        overlong=overlong,
        learns_chosen_prompt=method.learns_chosen_prompt,
        path=path,
    )
    return DataRows(rows, max_length, is_good)


def _tell_long_rows(data: DataRows, context: int, note: Note) -> None:
    rows, max_length = data.rows, data.max_length
    advice = f"Raise max_length (the model takes up to {context})" if max_length < context else "Shorten them"
    for code, count, done in (
        ("rows_cut", rows.cut_count, "cut"),
        ("rows_dropped", rows.dropped_count, "left out"),
    ):
        if count:
            note(code, f"{count} rows are longer than {max_length} tokens and were {done}. {advice}, or split them.")


def _load_held_out(
    path: Path | None,
    args: TrainingArgs,
    method: Method,
    total_steps: int,
    encoder: TextEncoder,
    max_length: int,
    overlong: str,
    note: Note,
    sources: Sources | None,
    samples: bool,
) -> HeldOutRows | None:
    if path is None:
        if args.decides_by_validation:
            note("validation_impossible", NO_HELD_OUT_ROWS)
        return None
    every = args.steps_between_validations(total_steps)
    wanted = rows_wanted(every * args.rows_per_step, args.decides_by_validation)
    try:
        held_out = load_held_out(path, encoder, method, max_length, overlong, wanted, sources, samples=samples)
    except RowsRefused as error:
        raise RowsRefused(f"Held-out rows: {error}") from error
    except DataError as error:
        note("validation_impossible", f"The held-out rows are not used while training. {error}")
        return None
    log(f"Validating every {every} steps on {len(held_out.used)} of {len(held_out.rows)} held-out rows")
    return held_out


def load_held_out(
    path: Path,
    encoder: TextEncoder,
    method: Method,
    max_length: int,
    overlong: str,
    wanted: int,
    sources: Sources | None = None,
    *,
    samples: bool = False,
) -> HeldOutRows:
    if _keeps_places(method, overlong):
        used, parts = _used(path, None, count_rows(path), wanted, sources)
        rows = encode_rows(path, encoder, max_length, set(used), train_on=method["train_on"])
        return HeldOutRows(rows, max_length, used=used, parts=parts)
    data = _all_rows(path, encoder, method, max_length, overlong, samples)
    used, parts = _used(path, data.rows, len(data.rows), wanted, sources)
    return HeldOutRows(data.rows, max_length, data.is_good, data.prompts, used, parts)


def _used(
    path: Path, kept: EncodedRows | None, count: int, wanted: int, sources: Sources | None
) -> tuple[list[int], list[HeldOutPart]]:
    """The rows that a validation takes, and those of each data set where the lines name one."""
    of_rows = None if sources is None else _sources_of(path, kept)
    if sources is None or of_rows is None:
        return evenly_spaced(count, wanted), []
    parts = held_out_parts(sources, of_rows, wanted)
    return [row for part in parts for row in part.used], parts
