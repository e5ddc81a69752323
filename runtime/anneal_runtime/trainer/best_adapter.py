"""The adapter of the best step by the held-out figures, for `keep: best`. Every checkpoint carries it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peft import set_peft_model_state_dict
from safetensors.torch import load_file, save_file

from anneal_runtime.trainer.adapter import weights_of

if TYPE_CHECKING:
    import torch
    from peft import PeftModel

# The worker publishes this file in place of the weights when it publishes a checkpoint.
BEST_FILE = "best_adapter_model.safetensors"


class BestAdapter:
    def __init__(self, model: PeftModel) -> None:
        self._model = model
        self._weights: dict[str, torch.Tensor] | None = None

    def keep(self) -> None:
        """Remembers the model as it is now."""
        self._weights = {name: tensor.clone() for name, tensor in weights_of(self._model).items()}

    def restore(self) -> None:
        """Gives the model the weights that were kept, if any were."""
        if self._weights is not None:
            set_peft_model_state_dict(self._model, self._weights)

    def save(self, folder: Path) -> None:
        if self._weights is not None:
            save_file(self._weights, folder / BEST_FILE, metadata={"format": "pt"})

    def load(self, folder: Path) -> None:
        if (folder / BEST_FILE).exists():
            self._weights = load_file(folder / BEST_FILE)
