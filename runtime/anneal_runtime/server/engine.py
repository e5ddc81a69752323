"""A loaded model and its interface for the routes. Loading imports torch, so it runs on the decoding thread only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anneal_runtime import model_source
from anneal_runtime.log import log
from anneal_runtime.settings import ServerSettings, ServerSpec
from anneal_runtime.tokenization import prompt_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from anneal_runtime.server.decoding.encoding import Encoder
    from anneal_runtime.server.decoding.grammar import Grammars
    from anneal_runtime.server.decoding.lora import AdapterRouter
    from anneal_runtime.server.decoding.rows import Vocabulary
    from anneal_runtime.server.decoding.scheduler import Scheduler
    from anneal_runtime.server.metrics import EngineMetrics

# all-MiniLM-L6-v2 was trained on 256 tokens a text, though its positions go further.
EMBEDDER_TOKENS = 256
PROBE_TEXT = "Question: What colour is it?\nAnswer: "


@dataclass(frozen=True)
class Generator:
    """The parts that only a causal model has."""

    grammars: Grammars
    router: AdapterRouter
    vocabulary: Vocabulary


@dataclass(frozen=True)
class Engine:
    name: str
    kind: Literal["transformers", "embedder"]
    context_length: int
    tokenizer: PreTrainedTokenizerBase
    encoder: Encoder
    scheduler: Scheduler
    generator: Generator | None
    folder: Path
    # The prompt of the start-up check, of the model and of each adapter.
    probe: list[int]


def load_engine(settings: ServerSettings, metrics: EngineMetrics, tell: Callable[[str], None] = log) -> Engine:
    """`tell` gets sentences for users while a model is fetched. Raises ModelUnavailable."""
    spec = settings.spec
    if spec.engine == "embedder":
        return _load_embedder(spec, _embedder_folder(spec.source, settings.models_dir, tell), metrics)
    if spec.engine == "transformers":
        return _load_causal(spec, model_source.locate(spec.source, settings.models_dir, tell), metrics)
    raise model_source.ModelUnavailable(f"This server has no engine named {spec.engine}.")


def _load_causal(spec: ServerSpec, folder: Path, metrics: EngineMetrics) -> Engine:
    import torch

    from anneal_runtime.server.decoding.batch import RunningBatch
    from anneal_runtime.server.decoding.encoding import Encoder
    from anneal_runtime.server.decoding.fused_decoder import fuse
    from anneal_runtime.server.decoding.grammar import Grammars
    from anneal_runtime.server.decoding.lora import AdapterRouter
    from anneal_runtime.server.decoding.packed_linear import pack
    from anneal_runtime.server.decoding.rows import Vocabulary
    from anneal_runtime.server.decoding.scheduler import Scheduler

    is_int8 = spec.dtype == "int8"
    dtype = torch.bfloat16 if is_int8 else None if spec.dtype is None else getattr(torch, spec.dtype)
    loaded = model_source.load_causal_lm(folder, model_source.choose_device(), dtype)
    model, tokenizer = loaded.model, loaded.tokenizer
    fuse(model, is_int8=is_int8)
    pack(model, is_int8=is_int8)
    end_tokens = _end_tokens(model, tokenizer)
    router = AdapterRouter(model)
    vocabulary_size = model.config.get_text_config().vocab_size
    vocabulary = Vocabulary(tokenizer, frozenset(end_tokens), vocabulary_size)
    grammars = Grammars(
        tokenizer, vocabulary_size, end_tokens, count=lambda result: metrics.grammars.labels(result).inc()
    )
    batch, quick = (RunningBatch(model, router, grammars, vocabulary) for _ in range(2))
    return Engine(
        name=spec.name,
        kind="transformers",
        context_length=model_source.context_length(model, spec.context_length),
        tokenizer=tokenizer,
        encoder=Encoder(model.base_model, router),
        scheduler=Scheduler(batch, spec.max_batch, metrics, quick),
        folder=loaded.folder,
        generator=Generator(grammars, router, vocabulary),
        probe=prompt_tokens(tokenizer, [PROBE_TEXT])[0],
    )


def _load_embedder(spec: ServerSpec, folder: Path, metrics: EngineMetrics) -> Engine:
    import torch
    from transformers import AutoModel
    from transformers.utils import logging

    from anneal_runtime.server.decoding.encoding import Encoder
    from anneal_runtime.server.decoding.packed_linear import pack
    from anneal_runtime.server.decoding.scheduler import Scheduler

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    device = model_source.choose_device()
    try:
        model = AutoModel.from_pretrained(folder, dtype=torch.float32, use_safetensors=True, local_files_only=True)
        tokenizer = model_source.load_tokenizer(folder)
    except (OSError, ValueError, KeyError) as error:
        raise model_source.ModelUnavailable(f"The embedding model cannot be loaded: {error}") from error
    model = model.to(device).eval()
    pack(model, for_texts=True)
    return Engine(
        name=spec.name,
        kind="embedder",
        context_length=model_source.context_length(model, spec.context_length or EMBEDDER_TOKENS),
        tokenizer=tokenizer,
        encoder=Encoder(model),
        scheduler=Scheduler(None, spec.max_batch, metrics),
        folder=folder,
        generator=None,
        probe=prompt_tokens(tokenizer, [PROBE_TEXT])[0],
    )


def _embedder_folder(source: dict[str, Any], models_dir: Path, tell: Callable[[str], None]) -> Path:
    """`{"package"}` names an installed Python package that carries the model's files in its folder `model`."""
    if "package" not in source:
        return model_source.locate(source, models_dir, tell)
    found = find_spec(source["package"].replace("-", "_"))
    if found is None or found.origin is None:
        raise model_source.ModelUnavailable(f"The package {source['package']} is not installed.")
    return Path(found.origin).parent / "model"


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    configured = model.generation_config.eos_token_id if model.generation_config is not None else None
    ends = configured if isinstance(configured, list) else [configured]
    return sorted({token for token in [*ends, tokenizer.eos_token_id] if token is not None})
