"""Numbers of a request body."""

from __future__ import annotations

import math
from typing import Any, cast

from anneal_runtime.server.errors import ApiError


def number(body: dict[str, Any], field: str, default: float, *, low: float, high: float, whole: bool = False) -> float:
    value = body.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise ApiError(400, f"{field} must be a {'whole ' if whole else ''}number.", param=field)
    if not math.isfinite(value) or not low <= value <= high:
        raise ApiError(400, f"{field} must be between {low:g} and {high:g}.", param=field)
    return cast(float, value)
