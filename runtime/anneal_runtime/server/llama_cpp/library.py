"""The part of llama.cpp's C API (llama.h) that a forward pass needs.

The libraries are those of the npm package @node-llama-cpp: packages of Python have none for newer processors, and are
half as fast. llama.h changes its structures now and then, so `load` compares their default values with the known ones.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_bool, c_char_p, c_float, c_int, c_int8, c_int32, c_size_t, c_uint32, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from anneal_runtime.log import log
from anneal_runtime.model_source import ModelUnavailable

VERSION = "0.5.0"
# enum ggml_log_level
ERROR = 4
LogCallback = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)


class ModelParams(Structure):
    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int),
        ("load_mode", c_int),
        ("lazy_mode", c_int),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class ContextParams(Structure):
    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("flash_attn_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class Batch(Structure):
    _fields_ = (
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(c_int8)),
    )


# Default values of llama.h, for fields in every part of the structures.
KNOWN_DEFAULTS: dict[str, dict[str, Any]] = {
    "llama_model_default_params": {
        "n_gpu_layers": -1,
        "split_mode": 1,
        "load_mode": -1,
        "lazy_mode": 1,
        "check_tensors": False,
        "use_extra_bufts": True,
        "no_host": False,
    },
    "llama_context_default_params": {
        "n_ctx": 512,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_seq_max": 1,
        "n_outputs_max_per_seq": 1,
        "n_threads": 4,
        "pooling_type": -1,
        "flash_attn_type": -1,
        "yarn_ext_factor": -1.0,
        "defrag_thold": -1.0,
        "type_k": 1,
        "type_v": 1,
        "embeddings": False,
        "offload_kqv": True,
        "swa_full": True,
        "kv_unified": False,
    },
}

FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (LogCallback, c_void_p)),
    "llama_model_default_params": (ModelParams, ()),
    "llama_context_default_params": (ContextParams, ()),
    "llama_model_load_from_file": (c_void_p, (c_char_p, ModelParams)),
    "llama_init_from_model": (c_void_p, (c_void_p, ContextParams)),
    "llama_model_get_vocab": (c_void_p, (c_void_p,)),
    "llama_vocab_n_tokens": (c_int32, (c_void_p,)),
    "llama_model_n_embd": (c_int32, (c_void_p,)),
    "llama_get_memory": (c_void_p, (c_void_p,)),
    "llama_memory_seq_rm": (c_bool, (c_void_p, c_int32, c_int32, c_int32)),
    "llama_decode": (c_int32, (c_void_p, Batch)),
    "llama_get_logits": (POINTER(c_float), (c_void_p,)),
    "llama_set_embeddings": (None, (c_void_p, c_bool)),
    "llama_get_embeddings": (POINTER(c_float), (c_void_p,)),
    "llama_adapter_lora_init": (c_void_p, (c_void_p, c_char_p)),
    "llama_adapter_lora_free": (None, (c_void_p,)),
    "llama_set_adapters_lora": (c_int32, (c_void_p, POINTER(c_void_p), c_size_t, POINTER(c_float))),
}


@cache
def load(folder: Path | None) -> Any:
    """The library, with the types of its functions. Raises ModelUnavailable."""
    if folder is None or not folder.is_dir():
        raise ModelUnavailable("llama.cpp is not installed: ANNEAL_LLAMA_CPP names no folder with its libraries.")
    try:
        backends, library = ctypes.CDLL(_only(folder, "libggml.*so")), ctypes.CDLL(_only(folder, "libllama.*so"))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        backends.ggml_backend_load_all_from_path.restype = None
        backends.ggml_backend_load_all_from_path.argtypes = (c_char_p,)
    except (ValueError, OSError, AttributeError) as error:
        raise ModelUnavailable(f"The libraries of llama.cpp in {folder} cannot be used: {error}") from error
    for name, defaults in KNOWN_DEFAULTS.items():
        params = getattr(library, name)()
        if any(getattr(params, field) != value for field, value in defaults.items()):
            raise ModelUnavailable(
                f"The llama.cpp in {folder} is not version {VERSION}, the one that Anneal knows: {name} differs."
            )
    library.llama_log_set(_LOG_ERRORS, None)
    # The folder has a library for each kind of processor. llama.cpp takes the best one for this machine.
    backends.ggml_backend_load_all_from_path(str(folder).encode())
    library.llama_backend_init()
    return library


def _only(folder: Path, pattern: str) -> str:
    """Raises ValueError."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"there are {len(found)} files {pattern}")
    return str(found[0])


def _log_errors(level: int, text: bytes, _data: int) -> None:
    if level == ERROR:
        log(f"llama.cpp: {text.decode(errors='replace').strip()}")


# The library keeps no reference.
_LOG_ERRORS = LogCallback(_log_errors)
