"""The lines of the user's own files that rows come from. The service leaves rows out, and splits others."""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Collection
from pathlib import Path
from typing import Any

SUFFIX = ".lines"


def line_names(path: Path, rows: Collection[int]) -> str:
    """`lines 3, 17`, or `a, line 3; b, line 9` for rows of several data sets. Without the service's file of lines they
    are those of `path`. `rows` count from 0.
    """
    lines = path.with_name(path.name + SUFFIX)
    runs: list[list[Any]] = (
        [json.loads(line) for line in lines.read_text().splitlines()] if lines.is_file() else [[0, 1]]
    )
    first_rows = [first for first, *_ in runs]
    found: list[tuple[int, str]] = []
    for row in rows:
        first, line, *of_set = runs[bisect(first_rows, row) - 1]
        place = (line + row - first, of_set[0] if of_set else "")
        # A pair may give two rows.
        if place not in found:
            found.append(place)
    if any(name for _, name in found):
        return "; ".join(f"{name}, line {line}" for line, name in found)
    return ("line " if len(found) == 1 else "lines ") + ", ".join(str(line) for line, _ in found)
