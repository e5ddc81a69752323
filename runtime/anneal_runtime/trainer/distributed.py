"""Training by several processes: each works on a share of every step's rows, and their sums make every step the same.

Not DistributedDataParallel: what is trained is small, so one flat sum a step costs little, and it carries the loss and
the word to stop along.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.settings import Placement
from anneal_runtime.trainer.batches import deal_rows
from anneal_runtime.trainer.failures import PeerLost, Stopped

# One process may fetch a large base while another has it.
LOADING_TIMEOUT = timedelta(hours=2)
PAUSE_S = 0.001
# A process that is asked to stop waits no longer than this for another that may be gone: it has a checkpoint to save.
STOP_PATIENCE_S = 5.0


# The others wait for work of rank 0 alone, with a sign of life each few seconds.
PULSE_S = 2.0

T = TypeVar("T")


class Ranks:
    """All processes of the run, seen from one. Every rank must make the same calls in the same order.

    Any of them raises PeerLost when another process is gone or silent for too long.
    """

    def __init__(self, placement: Placement, store: Store, stop_requested: Callable[[], bool]) -> None:
        self.rank, self.world_size = placement.rank, placement.world_size
        self._peer_timeout_s = placement.peer_timeout_s
        self._stop_requested = stop_requested
        # Set by `add_up` and `sum_of`, on all ranks at the same step: some process was asked to stop.
        self.stop_agreed = False
        self._sums: torch.Tensor | None = None
        _raising_peer_lost(
            lambda: dist.init_process_group(
                "gloo",
                store=PrefixStore("processes", store),
                rank=self.rank,
                world_size=self.world_size,
                timeout=LOADING_TIMEOUT,
            )
        )

    def start_together(self, parameters: list[torch.nn.Parameter]) -> None:
        """Waits until all have loaded; then all train what rank 0 begins with."""
        self._sum(torch.zeros(1), None, LOADING_TIMEOUT.total_seconds())
        self._device = parameters[0].device
        backend = "nccl" if parameters[0].is_cuda else "gloo"
        group = _raising_peer_lost(
            lambda: dist.new_group(backend=backend, timeout=timedelta(seconds=self._peer_timeout_s))
        )
        self._group = cast(dist.ProcessGroup, group)
        start = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        _raising_peer_lost(lambda: dist.broadcast(start, src=0, group=self._group))
        with torch.no_grad():
            for parameter, value in zip(parameters, torch.split(start, [p.numel() for p in parameters]), strict=True):
                parameter.copy_(value.view_as(parameter))

    def share(self, lengths: Sequence[int]) -> list[int]:
        """Positions of the rows that are this rank's, in order; may be none."""
        return deal_rows(lengths, self.world_size)[self.rank]

    def seed_dropout(self, seed: int, step: int) -> None:
        """A pure function of seed, step and rank: a resume needs no other rank's random state."""
        torch.manual_seed(random.Random(f"{seed}:{step}:{self.rank}").getrandbits(63))

    def add_up(self, parameters: list[torch.nn.Parameter], means: torch.Tensor) -> torch.Tensor:
        """Gradients become those of all ranks; returns the sums of the `means`. A parameter that no rank has a gradient
        for keeps none: optimizers skip it then, as they would in one process.
        """
        total = sum(parameter.numel() for parameter in parameters)
        if self._sums is None:
            self._sums = means.new_empty(total + len(parameters) + 1 + len(means))
        sums = self._sums
        gradients = torch.split(sums[:total], [parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, gradients, strict=True):
            part.zero_() if parameter.grad is None else part.copy_(parameter.grad.reshape(-1))
        present = [float(parameter.grad is not None) for parameter in parameters]
        flags, means_of_all = sums[total : -len(means)], sums[-len(means) :]
        flags[:] = torch.tensor([*present, float(self._stop_requested())])
        means_of_all[:] = means
        self._sum(sums, self._group, self._peer_timeout_s)
        *present, stops = flags.tolist()
        self.stop_agreed = stops > 0
        for parameter, part, count in zip(parameters, gradients, present, strict=True):
            parameter.grad = part.view_as(parameter) if count else None
        return means_of_all.clone()

    def sum_of(self, values: list[float]) -> list[float]:
        """Adds up the values of all ranks, place by place."""
        sums = torch.tensor([*values, float(self._stop_requested())], dtype=torch.float64, device=self._device)
        self._sum(sums, self._group, self._peer_timeout_s)
        *total, stops = sums.tolist()
        self.stop_agreed = stops > 0
        return total

    def tell(self, text: str, source: int) -> str:
        """The text of the rank `source`."""
        content = text.encode() if self.rank == source else b""
        (length,) = self.sum_of([float(len(content))])
        letters = torch.zeros(int(length), dtype=torch.uint8, device=self._device)
        if content:
            letters[:] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        self._sum(letters, self._group, self._peer_timeout_s)
        return bytes(letters.cpu().numpy()).decode()

    def awaiting(self, work: Callable[[], T]) -> T | None:
        """Rank 0 does the work, which may take longer than a step, while the others wait; they get None."""
        if self.rank > 0:
            while (state := self.sum_of([0.0])[0]) == 0:
                pass
            if state > 1:
                raise (
                    Stopped("Asked to stop.")
                    if self.stop_agreed
                    else PeerLost("Another process of this run has ended it.")
                )
            return None
        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            while not wait([working], PULSE_S).done:
                self.sum_of([0.0])
        self.sum_of([1.0 if working.exception() is None else 2.0])
        return working.result()

    def _sum(self, tensor: torch.Tensor, group: dist.ProcessGroup | None, timeout_s: float) -> None:
        """Polls in short waits: Python handles no signal during a long one."""
        work = _raising_peer_lost(lambda: dist.all_reduce(tensor, group=group, async_op=True))
        assert work is not None
        since, asked_at = time.monotonic(), None
        while not work.is_completed():
            now = time.monotonic()
            if asked_at is None and self._stop_requested():
                asked_at = now
            if now > since + timeout_s or (asked_at is not None and now > asked_at + STOP_PATIENCE_S):
                raise PeerLost(f"Another process of this run has not answered for {now - since:.0f} s.")
            time.sleep(PAUSE_S)
        _raising_peer_lost(work.wait)


def _raising_peer_lost(call: Callable[[], T]) -> T:
    try:
        return call()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise PeerLost.of(error) from error
