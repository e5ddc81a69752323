"""Client of the internal API: a method for each call of the contract, and the retry rules of docs/internal-api.md."""

import json
from typing import Any

from anneal_runtime.contract import CALLS, check_answer
from anneal_runtime.http_exchange import Answer, exchange
from anneal_runtime.log import log
from anneal_runtime.retry import RetryPolicy, Unavailable, call_with_retries

API_VERSION = "1"
TIMEOUT_S = 60.0


class Fenced(Exception):
    """Another attempt or server has taken this one's place: exit 77 at once."""


class Refused(Exception):
    """The API refused the call; a retry gets the same answer."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code, self.detail = status, code, detail


class UnsupportedRuntime(Refused):
    """The API does not support this runtime's version: exit 78."""


class InternalApi:
    def __init__(self, base_url: str, token: str, retry: RetryPolicy | None = None) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Anneal-Internal-Api": API_VERSION,
            "Content-Type": "application/json",
        }
        self._retry = retry or RetryPolicy()

    def claim(self, claim_id: str, *, runtime_version: str, hostname: str, device: str) -> dict[str, Any]:
        body = {"claim_id": claim_id, "runtime_version": runtime_version, "hostname": hostname, "device": device}
        return self.call("claim", body)

    def report_phase(self, phase: str) -> None:
        self.call("phase", {"phase": phase})

    def report_loading(self, call: str, message: str) -> None:
        """Best effort: only people read it. `call` is that of an attempt or of a model server."""
        try:
            self.call(call, {"message": message}, RetryPolicy(give_up_after_s=0.0), timeout_s=2.0)
        except (Unavailable, Refused) as error:
            log(f"The progress of loading could not be reported: {error}")

    def report_steps(self, steps: list[dict[str, float | int | None]]) -> None:
        self.call("steps", {"steps": steps})

    def request_artifact(self, kind: str, step: int, files: list[dict[str, Any]]) -> dict[str, Any]:
        return self.call("create_artifact", {"kind": kind, "step": step, "files": files})

    def commit_artifact(self, artifact_id: str) -> None:
        self.call("commit_artifact", {}, artifact_id=artifact_id)

    def grade(self, step: int, split: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        return self.call("grade", {"step": step, "split": split, "samples": samples})

    def sample(self, policy_step: int, prompts: list[dict[str, Any]]) -> dict[str, Any]:
        return self.call("sample", {"policy_step": policy_step, "prompts": prompts})

    def report_evaluation(self, split: str, results: list[dict[str, Any]]) -> None:
        self.call("evaluation", {"split": split, "results": results})

    def report_notes(self, notes: list[dict[str, str]]) -> None:
        self.call("notes", {"notes": notes})

    def report_row_counts(self, counts: dict[str, int | bool]) -> None:
        """An older service knows the number of rows that are cut."""
        self.call("notes", {"notes": [], "truncated_rows": counts["cut"], "row_counts": counts})

    def report_failure(self, cause: str, message: str) -> None:
        """Best effort: the exit code alone is enough for Anneal to go on."""
        self._report_failure("failure", {"cause": cause, "message": message})

    def claim_export(self, *, runtime_version: str) -> dict[str, Any]:
        return self.call("export_claim", {"runtime_version": runtime_version})

    def request_export_files(self, files: list[dict[str, Any]]) -> dict[str, Any]:
        return self.call("export_files", {"files": files})

    def commit_export(self) -> None:
        self.call("export_commit", {})

    def report_export_failure(self, message: str) -> None:
        """Best effort: the exit code alone is enough for Anneal to go on."""
        self._report_failure("export_failure", {"message": message})

    def report_ready(self, endpoint: str, *, engine: str, version: str, instance: str) -> None:
        body = {"endpoint": endpoint, "engine": engine, "version": version, "instance": instance}
        self.call("server_ready", body)

    def report_leaving(self, instance: str) -> None:
        """Best effort: a request that finds no replica here is sent to another one."""
        try:
            self.call("server_leaving", {"instance": instance}, RetryPolicy(give_up_after_s=0.0), timeout_s=2.0)
        except (Unavailable, Refused, Fenced) as error:
            log(f"The end of replica {instance} could not be reported: {error}")

    def _report_failure(self, call: str, body: dict[str, Any]) -> None:
        try:
            self.call(call, body, RetryPolicy(give_up_after_s=4.0), timeout_s=5.0)
        except (Unavailable, Refused, Fenced) as error:
            log(f"The cause of the failure could not be reported: {error}")

    def call(
        self,
        name: str,
        body: dict[str, Any],
        retry: RetryPolicy | None = None,
        timeout_s: float = TIMEOUT_S,
        **path_params: str,
    ) -> dict[str, Any]:
        """The answer's JSON object. Raises Fenced, Refused, ContractBroken, or Unavailable once the policy gives up."""
        path = CALLS[name]["path"]
        for param, value in path_params.items():
            path = path.replace(f":{param}", value)
        payload = json.dumps(body).encode()

        def once() -> dict[str, Any]:
            url = self._base_url + path
            return _read(exchange("POST", url, body=payload, headers=self._headers, timeout_s=timeout_s))

        answer = call_with_retries(once, retry or self._retry, on_wait=log)
        check_answer(name, answer)
        return answer


def _read(answer: Answer) -> dict[str, Any]:
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if answer.status == 200:
        if not isinstance(body, dict):
            raise Unavailable("The internal API answered 200 without a JSON object")
        return body
    problem = body if isinstance(body, dict) else {}
    code, detail = str(problem.get("code", "unknown")), str(problem.get("detail", "no detail"))
    if answer.status == 410:
        raise Fenced(detail)
    if answer.status == 426:
        raise UnsupportedRuntime(answer.status, code, detail)
    raise Refused(answer.status, code, detail)
