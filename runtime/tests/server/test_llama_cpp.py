"""The engine llama.cpp computes what transformers and peft do. Its keys and values are numbers of 16 bits."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from server.support.file_host import FileHost
from server.support.llama import LIBRARIES
from server.support.lora_files import ReferenceAdapters, prompts
from server.support.running import RunningServer
from support.until import until

from anneal_runtime.model_source import ModelUnavailable
from anneal_runtime.server.decoding import batch
from anneal_runtime.server.llama_cpp import library
from anneal_runtime.server.llama_cpp.forward import MOST_TEXTS, LlamaEncoder
from anneal_runtime.server.llama_cpp.model import LlamaModel, Piece
from anneal_runtime.tokenization import prompt_tokens

CLOSE = 0.05


def model_of(server: RunningServer) -> LlamaModel:
    assert server.engine.scheduler._main is not None
    model: LlamaModel = server.engine.scheduler._main._forward._model  # type: ignore[attr-defined]
    return model


def put(server: RunningServer, host: FileHost, name: str, files: dict[str, bytes]) -> tuple[int, Any]:
    return server.client.call("PUT", f"/agent/v1/adapters/{name}", {"files": host.publish(name, files)})


# The smaller limit makes the server read prompts in pieces of a few tokens.
@pytest.mark.parametrize("logits_at_once", [1 << 26, 12 * 1024 * 3])
def test_prompts_of_different_lengths_have_the_models_own_log_probabilities(
    llama: RunningServer, reference: ReferenceAdapters, monkeypatch: pytest.MonkeyPatch, logits_at_once: int
) -> None:
    monkeypatch.setattr(batch, "SCORED_LOGITS", logits_at_once)
    asked = [*prompts(10), "long " * 500, "x"]
    choices = llama.client.complete(asked, max_tokens=1, echo=True, logprobs=0)
    for ids, choice in zip(prompt_tokens(reference.tokenizer, asked), choices, strict=True):
        with torch.inference_mode():
            scores = reference.model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = [float(scores[at, token]) for at, token in enumerate(ids[1:])]
        assert choice["logprobs"]["token_logprobs"][1 : len(ids)] == pytest.approx(expected, abs=CLOSE)


def test_rows_of_several_adapters_in_one_batch_answer_as_peft_does(
    llama: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    targets = ["q_proj", "k_proj", "down_proj"]
    made = [reference.make(21), reference.make(22, rank=4, target_modules=targets, use_rslora=True)]
    for name, files in made:
        assert put(llama, host, name, files) == (200, {"name": name, "status": "loaded"})
    models, asked = [name for name, _ in made], prompts(6, seed=9)
    expected = {model: [reference.generate(prompt, model) for prompt in asked] for model in models}

    def ask(model: str) -> list[str]:
        return llama.client.texts(asked, model=model, max_tokens=16)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, models * 2)) == [expected[model] for model in models * 2]


def test_vectors_are_those_of_the_model(llama: RunningServer, tiny: RunningServer) -> None:
    texts = ["", "a", "word " * 500, *(f"text {number}" * (number % 12) for number in range(80))]
    vectors = [server.client.embed(texts, "anneal-tiny") for server in (llama, tiny)]
    assert torch.tensor(vectors[0]) == pytest.approx(torch.tensor(vectors[1]), abs=CLOSE)


def test_texts_are_read_beside_rows_that_fill_the_context(llama: RunningServer) -> None:
    rows, context = 3, 256
    file = llama.adapter_folder.parent / "model.gguf"
    model = LlamaModel(LIBRARIES, file, rows + MOST_TEXTS, (rows + 1) * context)
    model.run([Piece(each, 0, [5] * context, 1) for each in model.take_sequences(rows)], None)
    windows = [[number + 3] * (context // length) for number, length in enumerate([1, 4, 3, 2, 9, 9, 9, 1, 50, 50, 50])]
    together = LlamaEncoder(model, context).sums(windows, None)
    alone = [LlamaEncoder(model, context).sums([window], None)[0] for window in windows]
    assert together == pytest.approx(np.stack(alone), rel=0.02, abs=0.5)


def test_sequences_and_adapters_that_are_gone_are_free_again(
    llama: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    model = model_of(llama)
    name, files = reference.make(23)
    assert put(llama, host, name, files)[0] == 200
    llama.client.texts(prompts(40), model=name, max_tokens=3)
    assert llama.client.call("DELETE", f"/agent/v1/adapters/{name}")[0] == 200
    # The last adapter that was set is kept until another one is.
    llama.client.texts("a", max_tokens=1)
    gc.collect()
    llama.client.texts("a", max_tokens=1)
    until(lambda: len(model._free) + len(model._left_sequences) == 30)
    assert not model._left_adapters and model._adapter is None


def test_other_libraries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match="ANNEAL_LLAMA_CPP"):
        library.load(None)
    with pytest.raises(ModelUnavailable, match="0 files libggml"):
        library.load(tmp_path)
    # As if llama.h had another field.
    monkeypatch.setitem(library.KNOWN_DEFAULTS, "llama_context_default_params", {"n_ctx": 513})
    library.load.cache_clear()
    with pytest.raises(ModelUnavailable, match="is not version"):
        library.load(LIBRARIES)
    library.load.cache_clear()
