"""What vLLM answers, as its OpenAI server words it, over real HTTP. Its texts follow from the prompts."""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CONTEXT = 64


class FakeVllm:
    def __init__(self, model: str, version: str = "0.33.0") -> None:
        self.model, self.version = model, version
        self.healthy = True
        self.ignores_grammar = False
        self.backend = "guidance"
        self.chunked = False
        # How it reads a prompt; by default each word is a token.
        self.tokens_of: Callable[[str], list[int]] = lambda text: list(range(len(text.split(" "))))
        # By path: the status that it answers instead.
        self.fails: dict[str, int] = {}
        self.adapters: dict[str, str] = {}
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        # Set by a test to hold completions until their client leaves; `left` says that it has.
        self.hold = threading.Event()
        self.hold.set()
        self.held = threading.Event()
        self.left = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def stop(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.bodies.append((path, body))
        if path in self.fails:
            return _refusal(self.fails[path], "Not now.", "InternalServerError")
        routes: dict[tuple[str, str], Any] = {
            ("GET", "/health"): lambda: (200 if self.healthy else 503, ""),
            ("GET", "/version"): lambda: (200, {"version": self.version}),
            ("GET", "/v1/models"): self._models,
            ("POST", "/tokenize"): lambda: self._tokenize(body),
            ("POST", "/v1/completions"): lambda: self._completions(body),
            ("POST", "/v1/chat/completions"): lambda: self._chat(body),
            ("POST", "/v1/embeddings"): lambda: self._embeddings(body),
            ("POST", "/v1/load_lora_adapter"): lambda: self._load(body),
            ("POST", "/v1/unload_lora_adapter"): lambda: self._unload(body),
        }
        route = routes.get((method, path))
        answer: tuple[int, Any] = route() if route else (404, {"detail": "Not Found"})
        return answer

    def _models(self) -> tuple[int, Any]:
        names = [self.model, *self.adapters]
        return 200, {"object": "list", "data": [{"id": name, "max_model_len": CONTEXT} for name in names]}

    def _tokenize(self, body: dict[str, Any]) -> tuple[int, Any]:
        texts = [message["content"] for message in body["messages"]] if "messages" in body else [body["prompt"]]
        tokens = self.tokens_of(" ".join(texts))
        return 200, {"count": len(tokens), "max_model_len": CONTEXT, "tokens": tokens, "token_strs": None}

    def _completions(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["model"] != self.model and body["model"] not in self.adapters:
            return _refusal(404, f"The model `{body['model']}` does not exist.", "NotFoundError")
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        for prompt in prompts:
            count = len(prompt if isinstance(prompt, list) else prompt.split(" "))
            if count + body["max_tokens"] > CONTEXT:
                message = f"This model's maximum context length is {CONTEXT} tokens. However, you requested more."
                return _refusal(400, message, "BadRequestError")
        if "grammar" in (body.get("structured_outputs") or {}) and self.backend != "guidance":
            return _refusal(500, "Internal server error", "InternalServerError")
        self.hold.wait()
        choices = [
            {"index": index, "text": self._text(body, prompt), "logprobs": None, "finish_reason": "stop"}
            for index, prompt in enumerate(prompts)
        ]
        usage = {"prompt_tokens": len(prompts), "completion_tokens": 2 * len(prompts), "prompt_tokens_details": None}
        return 200, {"id": "cmpl-1", "object": "text_completion", "choices": choices[::-1], "usage": usage}

    def _chat(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["messages"][0]["role"] == "robot":
            return _refusal(400, "Unexpected message role.", "BadRequestError")
        text = f"{body['messages'][-1]['content'][:20]} in {body['max_tokens']}"
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return 200, {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}
        chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in text.split(" ")]
        events = [*map(json.dumps, [*chunks, {"choices": [], "usage": usage}]), "[DONE]"]
        return 200, "".join(f"data: {event}\n\n" for event in events)

    def _text(self, body: dict[str, Any], prompt: str) -> str:
        prompt = str(prompt)
        shape = body.get("structured_outputs") or {}
        if shape and not self.ignores_grammar:
            return '{"n":42}' if re.fullmatch(shape.get("regex", ".*"), '{"n":42}') else ""
        return f"{body['model']} says {prompt[:20]} in {body['max_tokens']}"

    def _embeddings(self, body: dict[str, Any]) -> tuple[int, Any]:
        return 200, {"data": [{"index": index, "embedding": [1.0]} for index, _ in enumerate(body["input"])]}

    def _load(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["lora_name"] in self.adapters:
            return _refusal(400, f"The lora adapter '{body['lora_name']}' has already been loaded.", "InvalidUserInput")
        self.adapters[body["lora_name"]] = body["lora_path"]
        return 200, f"Success: LoRA adapter '{body['lora_name']}' added successfully."

    def _unload(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.adapters.pop(body["lora_name"], None) is None:
            return _refusal(404, f"The lora adapter '{body['lora_name']}' cannot be found.", "NotFoundError")
        return 200, f"Success: LoRA adapter '{body['lora_name']}' removed successfully."


def _refusal(status: int, message: str, kind: str) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _handler(fake: FakeVllm) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def _serve(self, method: str) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not fake.hold.is_set() and self.path == "/v1/completions":
                self._await_leaving()
                return
            status, answer = fake.answer(method, self.path, json.loads(raw) if raw else {})
            content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            if fake.chunked and content:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                half = len(content) // 2
                for piece in (content[:half], content[half:]):
                    if piece:
                        self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def _await_leaving(self) -> None:
            """A closed connection reads as its end."""
            fake.held.set()
            self.rfile.read(1)
            fake.left.set()
            self.close_connection = True

        def log_message(self, *_arguments: Any) -> None:
            pass

    return Handler
