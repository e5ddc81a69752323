"""A plain HTTP client of the model server."""

import http.client
import json
from dataclasses import dataclass
from typing import Any

from support.until import PATIENCE_S


@dataclass(frozen=True)
class Client:
    port: int
    token: str | None

    def call(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            payload = raw if raw is not None else None if body is None else json.dumps(body).encode()
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            content = response.read()
            is_json = (response.getheader("content-type") or "").startswith("application/json")
            return response.status, json.loads(content) if is_json else content.decode()
        finally:
            connection.close()

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.call("POST", path, body)

    def complete(self, prompt: str | list[str], **options: Any) -> list[dict[str, Any]]:
        body = {"model": "anneal-tiny", "prompt": prompt, "temperature": 0, **options}
        status, answer = self.post("/v1/completions", body)
        assert status == 200, answer
        return list(answer["choices"])

    def texts(self, prompt: str | list[str], **options: Any) -> list[str]:
        return [choice["text"] for choice in self.complete(prompt, **options)]

    def embed(self, texts: list[str], model: str, **options: Any) -> list[list[float]]:
        status, answer = self.post("/v1/embeddings", {"model": model, "input": texts, **options})
        assert status == 200, answer
        return [item["embedding"] for item in answer["data"]]

    def metric(self, name: str) -> float:
        text = self.call("GET", "/metrics")[1]
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))
