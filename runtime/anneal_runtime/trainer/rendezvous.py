"""How the processes of a run find each other: rank 0 listens and keeps a store, the others connect to it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from anneal_runtime.log import log
from anneal_runtime.settings import Placement
from anneal_runtime.trainer.failures import PeerLost

if TYPE_CHECKING:
    from torch._C._distributed_c10d import TCPStore

PAUSE_S = 0.1
CONNECT_TIMEOUT_S = 5.0
# Time limit of one answer of the store; rank 0 may still be importing torch.
STORE_TIMEOUT = timedelta(minutes=5)

# Called while waiting; raises when the wait is in vain. Waits are made of short ones, so that signals are heard.
Check = Callable[[], None]


def listen(placement: Placement) -> tuple[Placement, socket.socket | None]:
    """Rank 0's listener, and the port that it got. Before the fork, which hands the port on."""
    if placement.rank != 0:
        return placement, None
    host, port = placement.rendezvous
    if placement.node_count == 1:
        listener = socket.create_server((host, port))
    else:
        dual = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual else socket.AF_INET
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=dual)
    return replace(placement, rendezvous=(host, listener.getsockname()[1])), listener


def meet(placement: Placement, listener: socket.socket | None, check: Check) -> TCPStore:
    """Returns once every process of the run is there. Peers may come late: their pods wait for nodes and images."""
    if placement.rank == 0:
        assert listener is not None
        return _wait_for_all(placement, listener, check)
    if listener is not None:
        listener.close()
    return _connect(placement, check)


def tell_claim(store: TCPStore, claim_id: str) -> None:
    """The processes of an attempt claim it as one."""
    store.set("claim", claim_id)


def hear_claim(store: TCPStore, check: Check) -> str:
    """Waits for rank 0's claim id for as long as rank 0 lives."""
    _wait_for_key(store, "claim", check)
    return str(store.get("claim").decode())


def _wait_for_all(placement: Placement, listener: socket.socket, check: Check) -> TCPStore:
    from torch._C._distributed_c10d import TCPStore

    log(f"Waiting for the other {placement.world_size - 1} processes of this run")
    store = TCPStore(
        "127.0.0.1",
        placement.rendezvous[1],
        is_master=True,
        timeout=STORE_TIMEOUT,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )
    for rank in range(1, placement.world_size):
        _wait_for_key(store, f"joined/{rank}", check)
    store.set("complete", "1")
    return store


def _connect(placement: Placement, check: Check) -> TCPStore:
    from torch._C._distributed_c10d import TCPStore

    host, port = placement.rendezvous
    while True:
        # An unknown host name also means "not yet": a pod gets its name with its address.
        with suppress(OSError), socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S):
            break
        check()
        time.sleep(PAUSE_S)
    try:
        store = TCPStore(host, port, is_master=False, timeout=STORE_TIMEOUT, wait_for_workers=False)
        store.set(f"joined/{placement.rank}", "1")
    except RuntimeError as error:
        raise PeerLost.of(error) from error
    _wait_for_key(store, "complete", check)
    return store


def _wait_for_key(store: TCPStore, key: str, check: Check) -> None:
    try:
        while not store.check([key]):
            check()
            time.sleep(PAUSE_S)
    except RuntimeError as error:
        raise PeerLost.of(error) from error
