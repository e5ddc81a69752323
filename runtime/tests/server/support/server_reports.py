"""What model servers report, over real HTTP."""

import http.server
import json
import threading
from typing import Any

from anneal_runtime.contract import CALLS, check_request

CALL_OF = {each["path"]: name for name, each in CALLS.items()}


class ServerReports:
    """The internal API's routes for model servers, answering with whatever `answers` says next."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []
        self.answers: list[int] = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                check_request(CALL_OF[self.path], body)
                fake.reports.append({"path": self.path, "token": self.headers["Authorization"], **body})
                status = fake.answers.pop(0) if fake.answers else 200
                content = b"{}" if status == 200 else b'{"code": "server_fenced", "detail": "released"}'
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
