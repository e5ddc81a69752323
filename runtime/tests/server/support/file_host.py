"""A store that hands out files by URL, as presigned addresses do."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class FileHost:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.requests: list[str] = []
        requests = self.requests

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_arguments: Any) -> None:
                requests.append(self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))

    def __enter__(self) -> "FileHost":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()

    def publish(self, name: str, files: dict[str, bytes]) -> list[dict[str, Any]]:
        """The files' descriptions, as a PUT of an adapter names them."""
        (self._folder / name).mkdir(exist_ok=True)
        for file, content in files.items():
            (self._folder / name / file).write_bytes(content)
        base = f"http://127.0.0.1:{self._server.server_address[1]}/{name}"
        return [
            {"name": file, "url": f"{base}/{file}", "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for file, content in files.items()
        ]
