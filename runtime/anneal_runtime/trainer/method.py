"""How a job learns from its rows: the method of its specification, with every hyperparameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anneal_runtime.contract import METHODS


@dataclass(frozen=True)
class Method:
    """`hyperparameters` has a value for each that the method has; those of the optimizer are in the arguments."""

    type: str
    hyperparameters: dict[str, Any]

    @classmethod
    def from_json(cls, raw: dict[str, Any] | None) -> Method:
        """`raw` as a job shows its method, `{"type": "dpo", "dpo": {"hyperparameters": {...}}}`; None is supervised.
        Raises ValueError for a method or a hyperparameter that this trainer does not have.
        """
        name = "supervised" if raw is None else str(raw["type"])
        if name not in METHODS:
            raise ValueError(f"This trainer has no method {name}. It has {', '.join(METHODS)}.")
        given = {} if raw is None else raw.get(name, {}).get("hyperparameters", {})
        of_method = METHODS[name]
        chosen = {key: value for key, value in given.items() if key in of_method["defaults"] and value is not None}
        loss_type = chosen.get("loss_type", of_method["defaults"].get("loss_type"))
        of_loss = of_method["defaults_by_loss_type"].get(loss_type, {})
        return cls(name, {**of_method["defaults"], **of_loss, **chosen})

    def __getitem__(self, hyperparameter: str) -> Any:
        return self.hyperparameters[hyperparameter]

    @property
    def learns_chosen_prompt(self) -> bool:
        return self.hyperparameters.get("loss_type") == "orpo"

    def overlong(self, asked: str | None) -> str:
        """What happens to rows that are too long: answers that are compared lose more by a cut than other rows."""
        return asked or ("cut" if self.type == "supervised" else "drop")

    @property
    def runs_reference(self) -> bool:
        """Whether steps run the model that the job began with, where they compare with it. Others know its figures."""
        return self.type in ("kto", "reinforcement")

    @property
    def temperature(self) -> float:
        """Of the answers that the model samples."""
        return float(self.hyperparameters.get("temperature", 1.0))

    @property
    def updates_per_batch(self) -> int:
        """Steps in a row that see the same rows."""
        return int(self.hyperparameters.get("num_iterations", 1))
