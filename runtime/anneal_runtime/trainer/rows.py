"""Rows of a data file as tokens: cut to length, with what is learned at each position."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch

from anneal_runtime.row_sequences import NOT_LEARNED, EncodedRow, Row, Sequence, encode_supervised
from anneal_runtime.tokenization import ChatRefused, TextEncoder
from anneal_runtime.trainer.failures import DataError, RowsRefused
from anneal_runtime.trainer.line_names import line_names

ROWS_AT_ONCE = 1000
# A refusal names so many lines.
MOST_NAMED = 5


class EncodedRows:
    """Token sequences of many rows in flat arrays. A row has a sequence, a conversation may have several; rows that the
    run never visits have none. `path` is the file of the rows, for messages that name its lines, and `end` the end
    token of the model.
    """

    def __init__(self, path: Path | None = None, end: int | None = None) -> None:
        self._path, self._end = path, end
        self._without_end_count = self._unvisited_count = 0
        self._tokens, self._labels = array("i"), array("i")
        self._starts, self._label_counts = [0], array("i")
        self._first_sequences = [0]
        self.cut_count = 0
        # Places, from 0, of the lines that were left out because they are too long.
        self._dropped = array("q")

    def __len__(self) -> int:
        return len(self._first_sequences) - 1

    @property
    def dropped_count(self) -> int:
        return len(self._dropped)

    def of_kept(self, of_lines: list[int]) -> list[int]:
        """What belongs to each row, from what belongs to each line."""
        dropped = set(self._dropped)
        return [value for line, value in enumerate(of_lines) if line not in dropped]

    @property
    def sequence_count(self) -> int:
        return len(self._label_counts)

    def sequences(self, rows: Iterable[int]) -> list[int]:
        return [number for row in rows for number in range(*self._first_sequences[row : row + 2])]

    def length(self, sequence: int) -> int:
        return self._starts[sequence + 1] - self._starts[sequence]

    def counts(self) -> dict[str, int | bool]:
        """What the run learns of the file, for the job. Rows that it never visits are not counted."""
        return {
            "rows": len(self) - self._unvisited_count + self.dropped_count,
            "tokens": len(self._tokens),
            "learned": sum(self._label_counts),
            "cut": self.cut_count,
            "dropped": self.dropped_count,
            "without_end": self._without_end_count,
            "complete": self._unvisited_count == 0,
        }

    def longest(self) -> int:
        return max((self.length(sequence) for sequence in range(len(self._label_counts))), default=0)

    def tokens(self, sequence: int) -> torch.Tensor:
        return self._part(self._tokens, sequence)

    def labels(self, sequence: int) -> torch.Tensor:
        return self._part(self._labels, sequence)

    def label_count(self, sequence: int) -> int:
        return self._label_counts[sequence]

    def add(self, *sequences: Sequence) -> None:
        """Adds a row."""
        for tokens, labels in sequences:
            self._tokens.extend(tokens)
            self._labels.extend(labels)
            self._starts.append(len(self._tokens))
            self._label_counts.append(sum(label != NOT_LEARNED for label in labels))
        self._first_sequences.append(len(self._label_counts))

    def leave(self) -> None:
        """Adds a row that the run never visits."""
        self._unvisited_count += 1
        self.add()

    def take(self, row: EncodedRow, overlong: str) -> bool:
        """Adds a row; False if it is too long and left out. Then no row keeps its place: a run visits those that were
        added. Raises DataError if a cut leaves nothing to learn: the row would be trained as zeros.
        """
        if row.cut[0] and overlong != "cut":
            self._dropped.append(len(self) + self.dropped_count)
            return False
        self.cut_count += row.cut[0]
        self._without_end_count += not row.has_ends(self._end)
        self.add(*row.sequences)
        if not row.is_learned:
            place = self._names([len(self) - 1 + self.dropped_count])
            raise DataError(f"No token is left to learn of the row in {place}. Raise max_length.")
        return True

    def check_dropped(self, max_length: int, overlong: str) -> None:
        """Raises DataError if no row is left, or if the job refuses rows that are too long."""
        if self.dropped_count and overlong == "refuse":
            more = ", …" if self.dropped_count > MOST_NAMED else ""
            places = self._names(self._dropped[:MOST_NAMED]) + more
            raise RowsRefused(
                f"{self.dropped_count} rows are longer than {max_length} tokens ({places}). Raise max_length, "
                'split them, or use overlong "cut" or "drop".'
            )
        if len(self) == 0:
            raise DataError(
                f"Every row of the data is longer than {max_length} tokens. Raise max_length, or shorten them."
            )

    def _names(self, places: Collection[int]) -> str:
        return line_names(self._path or Path(), places)

    def _part(self, values: array[int], sequence: int) -> torch.Tensor:
        return torch.tensor(values[self._starts[sequence] : self._starts[sequence + 1]], dtype=torch.long)


def parted(rows: EncodedRows, sequence: int) -> tuple[list[int], list[int]]:
    """Prompt and answer of a sequence whose answer alone is learned."""
    tokens = rows.tokens(sequence).tolist()
    first = int((rows.labels(sequence) != NOT_LEARNED).nonzero()[0]) + 1
    return tokens[:first], tokens[first:]


def read_rows(path: Path) -> Iterator[Row]:
    return read_lines(path, Row.from_line)


T = TypeVar("T")


def read_lines(path: Path, read: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """Raises DataError with the number of a line that `read` does not take."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield read(json.loads(line))
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise DataError(f"Line {number} of the data cannot be read: {error!r}.") from error


def read_sources(path: Path) -> list[int] | None:
    """The data set of each line; None where lines name none."""
    sources: list[int] = []
    for source in read_lines(path, lambda raw: raw.get("source")):
        if source is None:
            return None
        sources.append(source)
    return sources


def count_rows(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def encode_rows(
    path: Path,
    encoder: TextEncoder,
    max_length: int,
    visited: set[int] | None = None,
    *,
    overlong: str = "cut",
    train_on: str = "answers",
) -> EncodedRows:
    """`visited` None means all rows. Raises DataError when nothing of a row, or no row, is left to learn."""
    encoded, chunk = EncodedRows(path, encoder.tokenizer.eos_token_id), list[Row]()

    def encode_chunk() -> None:
        with chats_of_data():
            rows = encode_supervised(encoder, chunk, max_length, train_on)
        for row in rows:
            encoded.take(row, overlong)
        chunk.clear()

    for index, row in enumerate(read_rows(path)):
        if visited is None or index in visited:
            chunk.append(row)
        else:
            encode_chunk()
            encoded.leave()
        if len(chunk) == ROWS_AT_ONCE:
            encode_chunk()
    encode_chunk()
    if encoded.dropped_count:
        encoded.check_dropped(max_length, overlong)
    if encoded.sequence_count == 0:
        raise DataError("No row of the data has an output token to learn. Check the outputs and max_length.")
    return encoded


@contextmanager
def chats_of_data() -> Iterator[None]:
    """A conversation that the chat template does not take is an error of the data."""
    try:
        yield
    except ChatRefused as error:
        raise DataError(f"The data has rows with messages. {error}") from error
