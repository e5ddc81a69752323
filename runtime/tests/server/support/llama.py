"""A server with the engine llama.cpp, whose model is that of a folder."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.torch import load_file
from server.support.running import REPOSITORY, TINY, TOKEN, RunningServer, open_to_clients

from anneal_runtime.server import engine as engines
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.settings import ServerSettings

LIBRARIES = REPOSITORY / "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
SPEC = replace(TINY, engine="llama.cpp", dtype=None)


def serve_with_llama(folder: Path, work_dir: Path) -> RunningServer:
    """Of the folder the server takes the tokenizer; converting it from GGUF is what other tests do."""
    if not LIBRARIES.is_dir():
        pytest.skip("The package with llama.cpp is for x86-64 only.")
    file, metrics = work_dir / "model.gguf", EngineMetrics()
    write_gguf(folder, file)
    address = "127.0.0.1", 0, "127.0.0.1"
    settings = ServerSettings("http://127.0.0.1:9", TOKEN, REPOSITORY, work_dir, SPEC, *address, llama_cpp=LIBRARIES)
    engine = engines._generating(SPEC, folder, engines._with_llama(settings, folder, file), metrics)
    threading.Thread(target=engine.scheduler.run_forever, daemon=True).start()
    return open_to_clients(engine, metrics, work_dir)


def write_gguf(folder: Path, file: Path) -> None:
    """A Llama of transformers as llama.cpp has it: float32, without its vocabulary."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, tensor in load_file(folder / "model.safetensors").items():
        weight = tensor.float().numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config["num_attention_heads" if ".q_proj" in name else "num_key_value_heads"]
            weight = weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
