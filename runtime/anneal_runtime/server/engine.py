"""A loaded model and its interface for the routes. Loading imports torch, so it runs on the decoding thread only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anneal_runtime import model_source
from anneal_runtime.log import log
from anneal_runtime.settings import ServerSettings, ServerSpec
from anneal_runtime.tokenization import prompt_tokens

if TYPE_CHECKING:
    from transformers import GenerationConfig, PretrainedConfig, PreTrainedTokenizerBase

    from anneal_runtime.server.decoding.encoding import SumsWindows
    from anneal_runtime.server.decoding.forward import Forward
    from anneal_runtime.server.decoding.grammar import Grammars
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
    vocabulary: Vocabulary
    # Returns the handle for requests. From any thread. Raises AdapterRefused.
    read_adapter: Callable[[str, Path], Any]


@dataclass(frozen=True)
class Engine:
    name: str
    context_length: int
    tokenizer: PreTrainedTokenizerBase
    encoder: SumsWindows
    scheduler: Scheduler
    generator: Generator | None
    folder: Path
    # The prompt of the start-up check, of the model and of each adapter.
    probe: list[int]


def load_engine(settings: ServerSettings, metrics: EngineMetrics, tell: Callable[[str], None] = log) -> Engine:
    """`tell` gets sentences for users while a model is fetched. Raises ModelUnavailable."""
    spec, models_dir = settings.spec, settings.models_dir
    if spec.engine == "embedder":
        return _load_embedder(spec, _embedder_folder(spec.source, models_dir, tell), metrics)
    if spec.engine not in ("transformers", "llama.cpp"):
        raise model_source.ModelUnavailable(f"This server has no engine named {spec.engine}.")
    folder = model_source.locate(spec.source, models_dir, tell)
    if spec.engine == "llama.cpp":
        parts = _with_llama(settings, folder, model_source.gguf_file(spec.source, models_dir, folder))
    else:
        parts = _with_torch(spec, folder)
    return _generating(spec, folder, parts, metrics)


@dataclass(frozen=True)
class Parts:
    """What engines for generation do differently."""

    config: PretrainedConfig
    generation_config: GenerationConfig | None
    tokenizer: PreTrainedTokenizerBase
    forward: Forward
    encoder: SumsWindows
    read_adapter: Callable[[str, Path], Any]


def _with_torch(spec: ServerSpec, folder: Path) -> Parts:
    import torch

    from anneal_runtime.server.adapter_files import read_factors
    from anneal_runtime.server.decoding.encoding import Encoder
    from anneal_runtime.server.decoding.forward import TorchForward
    from anneal_runtime.server.decoding.fused_decoder import fuse
    from anneal_runtime.server.decoding.lora import Adapter, AdapterRouter
    from anneal_runtime.server.decoding.packed_linear import pack, place_of

    is_int8 = spec.dtype == "int8"
    dtype = torch.bfloat16 if is_int8 else None if spec.dtype is None else getattr(torch, spec.dtype)
    loaded = model_source.load_causal_lm(folder, model_source.choose_device(), dtype)
    model = loaded.model
    fuse(model, is_int8=is_int8)
    pack(model, is_int8=is_int8)
    router = AdapterRouter(model)

    def read_adapter(name: str, folder: Path) -> Adapter:
        adapter = Adapter(name, read_factors(folder, router.linears, place_of))
        router.prepare(adapter)
        return adapter

    return Parts(
        config=model.config,
        generation_config=model.generation_config,
        tokenizer=loaded.tokenizer,
        forward=TorchForward(model, router),
        encoder=Encoder(model.base_model, router),
        read_adapter=read_adapter,
    )


def _with_llama(settings: ServerSettings, folder: Path, file: Path) -> Parts:
    from transformers import AutoConfig, GenerationConfig

    from anneal_runtime.server.decoding.admission import most_rows
    from anneal_runtime.server.llama_cpp.adapter import LlamaAdapters
    from anneal_runtime.server.llama_cpp.forward import MOST_TEXTS, LlamaEncoder, LlamaForward
    from anneal_runtime.server.llama_cpp.model import LlamaModel

    spec, config = settings.spec, AutoConfig.from_pretrained(folder, local_files_only=True)
    context_length, rows = model_source.context_length(config, spec.context_length), most_rows(spec.max_batch)
    # Texts to embed are read in sequences of their own, beside rows that fill the context.
    model = LlamaModel(settings.llama_cpp, file, sequences=rows + MOST_TEXTS, most_cached=(rows + 1) * context_length)
    if model.vocabulary_size != config.vocab_size:
        raise model_source.ModelUnavailable(
            f"llama.cpp reads {model.vocabulary_size} tokens in {file.name}, transformers {config.vocab_size}."
        )
    has_generation_config = (folder / "generation_config.json").is_file()
    return Parts(
        config=config,
        generation_config=GenerationConfig.from_pretrained(folder) if has_generation_config else None,
        tokenizer=model_source.load_tokenizer(folder),
        forward=LlamaForward(model),
        encoder=LlamaEncoder(model, context_length),
        read_adapter=LlamaAdapters(model, config).read,
    )


def _generating(spec: ServerSpec, folder: Path, parts: Parts, metrics: EngineMetrics) -> Engine:
    from anneal_runtime.server.decoding.batch import RunningBatch
    from anneal_runtime.server.decoding.grammar import Grammars
    from anneal_runtime.server.decoding.rows import Vocabulary
    from anneal_runtime.server.decoding.scheduler import Scheduler

    tokenizer, vocabulary_size = parts.tokenizer, parts.forward.vocabulary_size
    end_tokens = model_source.end_tokens(parts.generation_config, tokenizer)
    vocabulary = Vocabulary(tokenizer, frozenset(end_tokens), vocabulary_size)
    grammars = Grammars(
        tokenizer, vocabulary_size, end_tokens, count=lambda result: metrics.grammars.labels(result).inc()
    )
    main, light = (RunningBatch(parts.forward, grammars, vocabulary) for _ in range(2))
    return Engine(
        name=spec.name,
        context_length=model_source.context_length(parts.config, spec.context_length),
        tokenizer=tokenizer,
        encoder=parts.encoder,
        scheduler=Scheduler(main, spec.max_batch, metrics, light),
        folder=folder,
        generator=Generator(grammars, vocabulary, parts.read_adapter),
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
        context_length=model_source.context_length(model.config, spec.context_length or EMBEDDER_TOKENS),
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
