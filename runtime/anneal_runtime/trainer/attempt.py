"""What every part of an attempt uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anneal_runtime.internal_api import InternalApi
from anneal_runtime.settings import TrainerSettings
from anneal_runtime.trainer.assignment import Claim
from anneal_runtime.trainer.reporter import Reporter
from anneal_runtime.trainer.termination import Termination

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks


@dataclass(frozen=True)
class Attempt:
    settings: TrainerSettings
    api: InternalApi
    claim: Claim
    termination: Termination
    reporter: Reporter
    # None if the run has one process.
    ranks: Ranks | None = None

    @property
    def reports(self) -> bool:
        """True for rank 0, which alone reports for the attempt."""
        return self.ranks is None or self.ranks.rank == 0
