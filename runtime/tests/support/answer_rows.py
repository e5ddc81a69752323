"""Rows of preferences and of judged answers, as a trainer gets them."""

from typing import Any

ANSWERS = ["It is blue.", "In Oslo.", "It costs 252 dollars without tax.", "Ask the shop."]


def pairs(count: int) -> list[dict[str, Any]]:
    return [
        {"input": f"Question {n}?\n", "chosen": ANSWERS[n % 4], "rejected": ANSWERS[(n + 1) % 4]} for n in range(count)
    ]


def judged(count: int) -> list[dict[str, Any]]:
    return [{"input": f"Question {n}?\n", "answer": ANSWERS[n % 4], "label": n % 3 > 0} for n in range(count)]
