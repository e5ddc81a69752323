"""Client of the internal API. A method per route of docs/internal-api.md; the retry rules of its table are here."""

import json
from typing import Any

from anneal_runtime.http_exchange import Answer, exchange
from anneal_runtime.log import log
from anneal_runtime.retry import RetryPolicy, Unavailable, call_with_retries

API_VERSION = "1"
TIMEOUT_S = 60.0


class Fenced(Exception):
    """Another attempt or server has taken this one's place: exit 77 at once."""


class Refused(Exception):
    """The API understood and said no; asking again would not help."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code, self.detail = status, code, detail


class UnsupportedRuntime(Refused):
    """This runtime's version is not one that the API works with: exit 78."""


class InternalApi:
    def __init__(self, base_url: str, token: str, retry: RetryPolicy | None = None) -> None:
        self._base_url = base_url.rstrip("/") + "/internal/v1"
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Anneal-Internal-Api": API_VERSION,
            "Content-Type": "application/json",
        }
        self._retry = retry or RetryPolicy()

    def claim(self, claim_id: str, *, runtime_version: str, hostname: str, device: str) -> dict[str, Any]:
        body = {"claim_id": claim_id, "runtime_version": runtime_version, "hostname": hostname, "device": device}
        return self.post("/attempt/claim", body)

    def report_phase(self, phase: str) -> None:
        self.post("/attempt/phase", {"phase": phase})

    def report_steps(self, steps: list[dict[str, float | int]]) -> None:
        self.post("/attempt/steps", {"steps": steps})

    def request_artifact(self, kind: str, step: int, files: list[dict[str, Any]]) -> dict[str, Any]:
        return self.post("/attempt/artifacts", {"kind": kind, "step": step, "files": files})

    def commit_artifact(self, artifact_id: str) -> None:
        self.post(f"/attempt/artifacts/{artifact_id}/commit", {})

    def report_evaluation(self, split: str, results: list[dict[str, str]]) -> None:
        self.post("/attempt/evaluation", {"split": split, "results": results})

    def report_notes(self, notes: list[dict[str, str]]) -> None:
        self.post("/attempt/notes", {"notes": notes})

    def report_failure(self, cause: str, message: str) -> None:
        """Best effort: the exit code alone is enough for Anneal to go on."""
        try:
            policy = RetryPolicy(give_up_after_s=4.0)
            self.post("/attempt/failure", {"cause": cause, "message": message}, policy, timeout_s=5.0)
        except (Unavailable, Refused, Fenced) as error:
            log(f"The failure could not be reported: {error}")

    def report_ready(self, endpoint: str, *, engine: str, version: str, instance: str) -> None:
        body = {"endpoint": endpoint, "engine": engine, "version": version, "instance": instance}
        self.post("/server/ready", body)

    def report_leaving(self, instance: str) -> None:
        """Best effort: who asks a replica that is gone goes on to another one."""
        try:
            self.post("/server/leaving", {"instance": instance}, RetryPolicy(give_up_after_s=0.0), timeout_s=2.0)
        except (Unavailable, Refused, Fenced) as error:
            log(f"That {instance} leaves could not be reported: {error}")

    def post(
        self, path: str, body: dict[str, Any], retry: RetryPolicy | None = None, timeout_s: float = TIMEOUT_S
    ) -> dict[str, Any]:
        """The answer's JSON object. Raises Fenced, Refused, or Unavailable once the retry policy gives up."""
        payload = json.dumps(body).encode()

        def once() -> dict[str, Any]:
            url = self._base_url + path
            return _read(exchange("POST", url, body=payload, headers=self._headers, timeout_s=timeout_s))

        return call_with_retries(once, retry or self._retry, on_wait=log)


def _read(answer: Answer) -> dict[str, Any]:
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if answer.status == 200:
        if not isinstance(body, dict):
            raise Unavailable("an answer that is not a JSON object")
        return body
    problem = body if isinstance(body, dict) else {}
    code, detail = str(problem.get("code", "unknown")), str(problem.get("detail", "no detail"))
    if answer.status == 410:
        raise Fenced(detail)
    if answer.status == 426:
        raise UnsupportedRuntime(answer.status, code, detail)
    raise Refused(answer.status, code, detail)
