"""A run of several processes, each on a node of its own."""

import socket
from collections.abc import Callable
from pathlib import Path

from support.fake_anneal import FakeAnneal
from support.forked_program import ForkedProgram
from support.trainer_process import start_trainer


def start_nodes(
    anneal: FakeAnneal, folder: Path, count: int = 2, main: Callable[[], None] | None = None, **settings: str
) -> list[ForkedProgram]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {"ANNEAL_NODE_COUNT": str(count), "ANNEAL_RENDEZVOUS": f"127.0.0.1:{port}", **settings}
    return [
        start_trainer(anneal.url, folder / f"node-{rank}", main=main, ANNEAL_NODE_RANK=str(rank), **common)
        for rank in range(count)
    ]


def codes(trainers: list[ForkedProgram]) -> list[int]:
    return [trainer.exit_code() for trainer in trainers]


def trace(anneal: FakeAnneal, key: str = "loss") -> list[float]:
    return [anneal.steps[step][key] for step in anneal.counted_steps() if key in anneal.steps[step]]


def again(anneal: FakeAnneal) -> None:
    anneal.steps.clear()
    anneal.claim_ids.clear()
    anneal.committed.clear()
    anneal.calls.clear()
    anneal.phases.clear()
