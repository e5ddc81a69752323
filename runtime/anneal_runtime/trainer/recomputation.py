"""Gradient checkpointing: layers keep no activations for the backward pass, which computes them again. A step has the
same bits either way, takes about a third longer, and needs a fraction of the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anneal_runtime.trainer.adapter import base_of
from anneal_runtime.trainer.training_args import Note

if TYPE_CHECKING:
    from peft import PeftModel


class Recomputation:
    """`asked` is True, False or "auto", which begins without it unless an earlier attempt needed it."""

    def __init__(self, model: PeftModel, asked: bool | str, was_needed: bool, note: Note) -> None:
        self._model, self._asked, self._note = model, asked, note
        self.is_on = (asked is True or was_needed) and self._turn_on()
        if asked is True and not self.is_on:
            note(
                "gradient_checkpointing_off", "This model cannot do gradient checkpointing, so it was trained without."
            )

    def turn_on_for_memory(self) -> bool:
        """For a row that does not fit. False if nothing changes."""
        if self._asked != "auto" or self.is_on or not self._turn_on():
            return False
        self.is_on = True
        self._note(
            "gradient_checkpointing_on",
            "A row does not fit into the memory, so gradient checkpointing is on from here: a step takes about a third "
            "longer. A lower max_length avoids it.",
        )
        return True

    def _turn_on(self) -> bool:
        base = base_of(self._model)
        if not base.supports_gradient_checkpointing:
            return False
        # Draws of dropout are repeated: torch restores the random state before it computes a layer again.
        # The second name is that of transformers 5.17, which some machines with a GPU have.
        enable = getattr(base, "activation_checkpointing_enable", None) or base.gradient_checkpointing_enable
        enable({"use_reentrant": False})
        return True
