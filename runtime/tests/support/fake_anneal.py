"""The internal API and an object store over real HTTP, small enough to read, strict as docs/internal-api.md says.

Tests may take it away, make it refuse, lose its answers, or fence the attempt.
"""

import hashlib
import json
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anneal_runtime.contract import CALLS, ContractBroken, check_request
from support.until import PATIENCE_S

PREFIX = "/internal/v1/attempt/"
CALL_OF = {each["path"].removeprefix(PREFIX): name for name, each in CALLS.items()}


@dataclass
class FakeAnneal:
    assignment: dict[str, Any]
    token: str = "attempt-token"
    objects: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    claim_ids: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    step_posts: list[list[int]] = field(default_factory=list)
    pending: dict[str, dict[str, Any]] = field(default_factory=dict)
    committed: list[dict[str, Any]] = field(default_factory=list)
    evaluation: dict[str, Any] | None = None
    notes: list[dict[str, str]] = field(default_factory=list)
    row_counts: dict[str, Any] | None = None
    failure: dict[str, str] | None = None
    # A reinforcement job reads these: the reward of a sample, the stored rewards, how often each sample was graded.
    reward_of: Callable[[dict[str, Any]], float] | None = None
    grades: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    graded: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    # Samples wait while this is set.
    grader_away: bool = False
    # Nothing is sampled by model servers while this is set. How often each answer was.
    sampler_away: bool = False
    sampled: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    away: bool = False
    fenced: bool = False
    # By route (`claim`, `steps`, `commit`, `GET`, `PUT`, ...): how many of the next calls answer that status and code,
    refuse: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    # are worked but never answered,
    lose_answer: Counter[str] = field(default_factory=Counter)
    # are worked and answered only once the event is set,
    unanswered: dict[str, threading.Event] = field(default_factory=dict)
    # or arrive with their bytes changed.
    corrupt: Counter[str] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> "FakeAnneal":
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def store(self, key: str, content: bytes) -> dict[str, Any]:
        """A stored object as claims name it."""
        self.objects[key] = content
        return {"url": f"{self.url}/store/{key}", "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    def counted_steps(self) -> list[int]:
        """The reported steps without those that only the time of a slow machine has added."""
        return [
            step
            for step, row in sorted(self.steps.items())
            if step <= 10 or step % 10 == 0 or "valid_loss" in row or row["remaining_time"] == 0
        ]

    def artifact(self, kind: str) -> dict[str, Any] | None:
        """The newest committed one, as a claim names it."""
        found = [artifact for artifact in self.committed if artifact["kind"] == kind]
        if not found:
            return None
        newest = found[-1]
        files = [{**file, "url": f"{self.url}/store/{newest['id']}/{file['name']}"} for file in newest["files"]]
        return {"id": newest["id"], "step": newest["step"], "files": files}

    def rollouts(self, after: int) -> list[dict[str, Any]]:
        """As a claim lists them, for steps later than this one."""
        steps: dict[int, list[dict[str, Any]]] = {}
        for artifact in self.committed:
            if artifact["kind"] == "rollouts" and artifact["step"] > after:
                (file,) = artifact["files"]
                url = f"{self.url}/store/{artifact['id']}/{file['name']}"
                steps.setdefault(artifact["step"], []).append({**file, "url": url})
        return [{"step": step, "files": files} for step, files in sorted(steps.items())]

    def content(self, kind: str) -> dict[str, bytes]:
        newest = self.artifact(kind)
        assert newest is not None
        return {file["name"]: self.objects[f"{newest['id']}/{file['name']}"] for file in newest["files"]}

    def wait_for(self, condition: Any) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        with self.changed:
            while not condition():
                assert time.monotonic() < give_up_at, "the trainer did not get there"
                self.changed.wait(0.05)

    @contextmanager
    def noting(self) -> Any:
        with self.changed:
            yield
            self.changed.notify_all()


class Problem(Exception):
    def __init__(self, status: int, code: str) -> None:
        self.status, self.code = status, code


def _handler(fake: FakeAnneal) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            route = self.path.removeprefix(PREFIX)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = "commit" if route.endswith("/commit") else route
            try:
                self._meet(name)
                if self.headers["Authorization"] != f"Bearer {fake.token}":
                    raise Problem(401, "invalid_token")
                if self.headers["Anneal-Internal-Api"] != "1":
                    raise Problem(400, "bad_version")
                if fake.fenced:
                    raise Problem(410, "attempt_fenced")
                with fake.noting():
                    fake.calls.append(name)
                    answer = _answer(fake, route, body)
                if name in fake.unanswered:
                    fake.unanswered[name].wait()
                if fake.lose_answer[name] > 0:
                    fake.lose_answer[name] -= 1
                    raise ConnectionAbortedError
                self._send(200, json.dumps(answer).encode())
            except Problem as problem:
                content = {"code": problem.code, "detail": f"{problem.code} for the test"}
                self._send(problem.status, json.dumps(content).encode())
            except ConnectionAbortedError:
                self.close_connection = True

        def do_GET(self) -> None:
            key = self.path.removeprefix("/store/")
            try:
                self._meet("GET")
                if key not in fake.objects:
                    raise Problem(404, "NoSuchKey")
                content = fake.objects[key]
                if fake.corrupt[key] > 0:
                    fake.corrupt[key] -= 1
                    content = bytes([content[0] ^ 1]) + content[1:]
                self._send(200, content)
            except Problem as problem:
                self._send(problem.status, b"refused")
            except ConnectionAbortedError:
                self.close_connection = True

        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                self._meet("PUT")
                with fake.noting():
                    fake.objects[self.path.removeprefix("/store/")] = content
                self._send(200, b"")
            except Problem as problem:
                self._send(problem.status, b"refused")
            except ConnectionAbortedError:
                self.close_connection = True

        def _meet(self, name: str) -> None:
            if fake.away:
                raise ConnectionAbortedError
            times, status, code = fake.refuse.get(name, (0, 0, ""))
            if times > 0:
                fake.refuse[name] = (times - 1, status, code)
                raise Problem(status, code)

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: Any) -> None:
            pass

    return Handler


def _answer(fake: FakeAnneal, route: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        check_request(CALL_OF[re.sub("artifacts/[^/]+/", "artifacts/:artifact_id/", route)], body)
    except (ContractBroken, KeyError) as error:
        raise Problem(400, f"invalid_body: {error!r}") from error
    match route.split("/"):
        case ["claim"]:
            if fake.claim_ids and body["claim_id"] != fake.claim_ids[0]:
                raise Problem(410, "attempt_fenced")
            fake.claim_ids.append(body["claim_id"])
            checkpoint = fake.assignment["checkpoint"]
            fake.steps = {
                number: row for number, row in fake.steps.items() if number <= (checkpoint or {}).get("step", 0)
            }
            return fake.assignment
        case ["phase"]:
            fake.phases.append(body["phase"])
        case ["steps"]:
            fake.step_posts.append([row["step"] for row in body["steps"]])
            fake.steps |= {row["step"]: row for row in body["steps"]}
        case ["artifacts"]:
            artifact_id = str(uuid.uuid4())
            fake.pending[artifact_id] = {**body, "id": artifact_id}
            uploads = [{"name": f["name"], "url": f"{fake.url}/store/{artifact_id}/{f['name']}"} for f in body["files"]]
            return {"artifact_id": artifact_id, "uploads": uploads}
        case ["artifacts", artifact_id, "commit"]:
            _commit(fake, artifact_id)
        case ["grade"]:
            return _grade(fake, body)
        case ["sample"]:
            return _sample(fake, body)
        case ["evaluation"]:
            fake.evaluation = body
        case ["notes"]:
            fake.notes += body["notes"]
            fake.row_counts = body.get("row_counts", fake.row_counts)
        case ["failure"]:
            fake.failure = body
    return {}


def _grade(fake: FakeAnneal, body: dict[str, Any]) -> dict[str, Any]:
    assert fake.reward_of is not None
    places, graded = [], []
    for sample in body["samples"]:
        place = {"row": sample["row"], "index": sample["index"]}
        key = (body["split"], body["step"], *place.values())
        if fake.grader_away and key not in fake.grades:
            places.append(place)
            continue
        if key not in fake.grades:
            fake.graded[key] += 1
            value = fake.reward_of(sample)
            fake.grades[key] = {**place, "reward": value, "grades": {"short": value}, "error": None}
        graded.append(fake.grades[key])
    return {"graded": graded, "waiting": places, "waiting_for": "The judge starts." if places else None}


def _sample(fake: FakeAnneal, body: dict[str, Any]) -> dict[str, Any]:
    """Answers of random tokens, which depend on their seeds only."""
    step = body["policy_step"]
    if not any(each["kind"] == "policy" and each["step"] == step for each in fake.committed):
        raise Problem(409, "conflict")
    asked = [(prompt, each) for prompt in body["prompts"] for each in prompt["answers"]]
    if fake.sampler_away:
        places = [{"row": prompt["row"], "index": each["index"]} for prompt, each in asked]
        return {"sampled": [], "waiting": places, "waiting_for": "The model tiny is not ready."}
    sampled = []
    for prompt, each in asked:
        fake.sampled[step, each["seed"]] += 1
        drawn = random.Random(int(each["seed"]))
        tokens = [drawn.randrange(5, 500) for _ in range(prompt["max_tokens"])]
        place = {"row": prompt["row"], "index": each["index"]}
        sampled.append({**place, "tokens": tokens, "logps": [-4.0] * len(tokens), "finish_reason": "length"})
    return {"sampled": sampled, "waiting": [], "waiting_for": None}


def _commit(fake: FakeAnneal, artifact_id: str) -> None:
    artifact = fake.pending[artifact_id]
    for file in artifact["files"]:
        content = fake.objects.get(f"{artifact_id}/{file['name']}", b"")
        if len(content) != file["size"] or hashlib.sha256(content).hexdigest() != file["sha256"]:
            raise Problem(409, "artifact_incomplete")
    if artifact not in fake.committed:
        fake.committed.append(artifact)
