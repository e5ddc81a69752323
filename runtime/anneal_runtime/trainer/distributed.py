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
        # Called before each common call: what the passes of other ranks need from this one.
        self.keep_up: Callable[[], None] = _nothing
        # Then a rank cannot repeat a pass that did not fit.
        self.makes_same_passes = False
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

    def meet_on(self, device: torch.device) -> None:
        """Waits until all have loaded."""
        self._sum(torch.zeros(1), None, LOADING_TIMEOUT.total_seconds())
        self.device = device
        backend = "nccl" if device.type == "cuda" else "gloo"
        group = _raising_peer_lost(
            lambda: dist.new_group(backend=backend, timeout=timedelta(seconds=self._peer_timeout_s))
        )
        self.group = cast(dist.ProcessGroup, group)

    def start_together(self, parameters: list[torch.nn.Parameter]) -> None:
        """All train what rank 0 begins with."""
        start = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        _raising_peer_lost(lambda: dist.broadcast(start, src=0, group=self.group))
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
        self.keep_up()
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
        self._sum(sums, self.group, self._peer_timeout_s)
        *present, stops = flags.tolist()
        self.stop_agreed = stops > 0
        for parameter, part, count in zip(parameters, gradients, present, strict=True):
            parameter.grad = part.view_as(parameter) if count else None
        return means_of_all.clone()

    def sum_of(self, values: list[float]) -> list[float]:
        """Adds up the values of all ranks, place by place."""
        self.keep_up()
        *total, stops = self.count([*values, float(self._stop_requested())])
        self.stop_agreed = stops > 0
        return total

    def count(self, values: list[float]) -> list[float]:
        """`sum_of` for what happens between the passes of ranks: hears no word to stop."""
        sums = torch.tensor(values, dtype=torch.float64)
        self._sum(sums, None, self._peer_timeout_s)
        found: list[float] = sums.tolist()
        return found

    def tell(self, text: str, source: int) -> str:
        """The text of the rank `source`."""
        content = text.encode() if self.rank == source else b""
        (length,) = self.sum_of([float(len(content))])
        letters = torch.zeros(int(length), dtype=torch.uint8)
        if content:
            letters[:] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        self._sum(letters, None, self._peer_timeout_s)
        return bytes(letters.numpy()).decode()

    def any(self, own: bool) -> bool:
        """Whether it is so for any rank. Others may still be loading."""
        flag = torch.tensor([float(own)])
        self._sum(flag, None, LOADING_TIMEOUT.total_seconds())
        return bool(flag.item())

    def gather(
        self, whole: torch.Tensor, share: torch.Tensor, group: dist.ProcessGroup, *, waits: bool
    ) -> dist.Work | None:
        """`whole` becomes the shares of all ranks. Returns what is left to wait for."""
        work = _raising_peer_lost(lambda: dist.all_gather_into_tensor(whole, share, group=group, async_op=True))
        assert work is not None
        if waits or self.device.type == "cpu":
            self._finish(work, self._peer_timeout_s)
            return None
        return work

    def serve(self) -> None:
        """Takes part in the passes of rank 0 until that has no more. Between them it may save a model for an hour."""
        self._peer_timeout_s = LOADING_TIMEOUT.total_seconds()
        self.keep_up()

    def apart(self, work: Callable[[Callable[[], None]], T]) -> T:
        """Work that may take minutes more on one rank than on another. The work calls its argument often: ranks then
        hear from each other every few seconds, and of a word to stop. Raises Stopped on all ranks.
        """
        heard_at = time.monotonic()

        def pulse() -> None:
            nonlocal heard_at
            if self._stop_requested() or time.monotonic() - heard_at >= PULSE_S:
                self._round(1.0)
                heard_at = time.monotonic()

        result = work(pulse)
        while self._round(0.0):
            pass
        return result

    def _round(self, working: float) -> float:
        """How many ranks still work."""
        (left,) = self.sum_of([working])
        if self.stop_agreed:
            raise Stopped("Asked to stop.")
        return left

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
        pool, asked_at = ThreadPoolExecutor(1), None
        working = pool.submit(work)
        pool.shutdown(wait=False)
        while not wait([working], PULSE_S).done:
            self.sum_of([0.0])
            if self.stop_agreed:
                asked_at = asked_at or time.monotonic()
                if time.monotonic() > asked_at + STOP_PATIENCE_S:
                    # A call that waits for the service hears nothing. The process ends before the call does.
                    self.sum_of([2.0])
                    raise Stopped("Asked to stop.")
        self.sum_of([1.0 if working.exception() is None else 2.0])
        return working.result()

    def _sum(self, tensor: torch.Tensor, group: dist.ProcessGroup | None, timeout_s: float) -> None:
        work = _raising_peer_lost(lambda: dist.all_reduce(tensor, group=group, async_op=True))
        assert work is not None
        self._finish(work, timeout_s)

    def _finish(self, work: dist.Work, timeout_s: float) -> None:
        """Polls in short waits: Python handles no signal during a long one."""
        since, asked_at = time.monotonic(), None
        while not work.is_completed():
            now = time.monotonic()
            if asked_at is None and self._stop_requested():
                asked_at = now
            if now > since + timeout_s or (asked_at is not None and now > asked_at + STOP_PATIENCE_S):
                raise PeerLost(f"Another process of this run has not answered for {now - since:.0f} s.")
            time.sleep(PAUSE_S)
        _raising_peer_lost(work.wait)


def _nothing() -> None:
    """A base that is not sharded needs nothing of other ranks."""


def _raising_peer_lost(call: Callable[[], T]) -> T:
    try:
        return call()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise PeerLost.of(error) from error
