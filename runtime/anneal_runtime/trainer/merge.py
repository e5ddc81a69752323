"""A merged export: the adapter's weights added to those of its base, as files that plain transformers loads."""

import traceback
from functools import partial
from pathlib import Path
from typing import Any

from anneal_runtime import __version__, exit_codes
from anneal_runtime.internal_api import Fenced, InternalApi, Refused
from anneal_runtime.log import log
from anneal_runtime.model_source import check_weights, is_out_of_memory, load_causal_lm, locate, stored_dtype
from anneal_runtime.settings import TrainerSettings
from anneal_runtime.trainer.artifacts import send
from anneal_runtime.trainer.assignment import fetch
from anneal_runtime.trainer.failures import explain
from anneal_runtime.transfer import RemoteFile

# A store copies an object of this size in one request.
SHARD_SIZE = "4GB"


def merge_for_export(settings: TrainerSettings) -> int:
    """Merges and uploads; the exit code. The same adapter gives the same bytes each time."""
    api = InternalApi(settings.internal_url, settings.token)
    try:
        _merge_and_upload(settings, api)
        return exit_codes.FINISHED
    except BaseException as error:
        return _report(api, error)


def _merge_and_upload(settings: TrainerSettings, api: InternalApi) -> None:
    claim = partial(api.claim_export, runtime_version=__version__)
    work = claim()
    base = work["base_model"]
    log(f"Merging {work['model_name']} into {base['name']}")
    adapter, merged = settings.work_dir / "adapter", settings.work_dir / "merged"
    fetch(_adapter_files, adapter, work, claim)
    folder = locate(base["source"], settings.models_dir)
    check_weights(folder, base["sha256"])
    merge(folder, adapter, merged)
    log("Uploading the merged model")
    send("merged model", merged, api.request_export_files, lambda _granted: api.commit_export())


def merge(base: Path, adapter: Path, merged: Path) -> None:
    """Writes the merged model with its tokenizer. Its weights have the number format of the base's files."""
    import torch

    from anneal_runtime.trainer.adapter import load_adapter

    loaded = load_causal_lm(base, torch.device("cpu"), dtype=stored_dtype(base))
    # PEFT adds in float32 and rounds once.
    plain: Any = load_adapter(loaded.model, adapter).merge_and_unload(safe_merge=True)
    plain.save_pretrained(merged, max_shard_size=SHARD_SIZE)
    loaded.tokenizer.save_pretrained(merged)


def _adapter_files(work: dict[str, Any]) -> list[RemoteFile]:
    return [RemoteFile.from_json(file) for file in work["adapter"]]


def _report(api: InternalApi, error: BaseException) -> int:
    if isinstance(error, Fenced):
        log(str(error))
        return exit_codes.FENCED
    _cause, code, message = explain(error)
    if is_out_of_memory(error):
        message = "The model does not fit into the memory of the program. The operator can give its base model more."
    elif isinstance(error, Refused):
        message = error.detail
    log(message)
    if code == exit_codes.CODE_ERROR:
        traceback.print_exception(error)
    api.report_export_failure(message)
    return code
