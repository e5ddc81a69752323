"""Prometheus numbers of a model server. Labels are routes and status classes only, so that the series stay few."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence

LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 80.0)
ROW_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Counter:
    kind = "counter"

    def __init__(self, name: str, describes: str, labels: Sequence[str] = ()) -> None:
        self.name, self.describes, self._labels = name, describes, labels
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}
        self._lock = threading.Lock()

    def add(self, amount: float = 1, *label_values: str) -> None:
        with self._lock:
            self._values[label_values] = self._values.get(label_values, 0.0) + amount

    def samples(self) -> Iterator[tuple[str, float]]:
        for label_values, value in sorted(self._values.items()):
            pairs = ",".join(f'{name}="{value}"' for name, value in zip(self._labels, label_values, strict=True))
            yield f"{self.name}{{{pairs}}}" if pairs else self.name, value


class Gauge(Counter):
    kind = "gauge"

    def set(self, value: float) -> None:
        self._values[()] = value

    @property
    def value(self) -> float:
        return self._values[()]


class Histogram:
    kind = "histogram"

    def __init__(self, name: str, describes: str, buckets: Sequence[float]) -> None:
        self.name, self.describes, self._buckets = name, describes, buckets
        self._counts = [0] * (len(buckets) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float) -> None:
        with self._lock:
            self._counts[bisect_left(self._buckets, value)] += 1
            self._sum += value

    def samples(self) -> Iterator[tuple[str, float]]:
        total = 0
        for bound, count in zip([*self._buckets, float("inf")], self._counts, strict=True):
            total += count
            yield f'{self.name}_bucket{{le="{"+Inf" if bound == float("inf") else bound}"}}', total
        yield f"{self.name}_sum", self._sum
        yield f"{self.name}_count", total


class EngineMetrics:
    def __init__(self) -> None:
        prefix = "anneal_model_server"
        self.requests = Counter(f"{prefix}_requests_total", "Requests answered.", ("route", "status"))
        self.prompts = Counter(f"{prefix}_prompts_total", "Prompts accepted for completion.")
        self.texts = Counter(f"{prefix}_texts_total", "Texts accepted for embedding.")
        self.prompt_tokens = Counter(f"{prefix}_prompt_tokens_total", "Tokens of accepted prompts.")
        self.generated_tokens = Counter(f"{prefix}_generated_tokens_total", "Tokens of finished answers.")
        self.running_rows = Gauge(f"{prefix}_running_rows", "Rows in the batch now.")
        self.waiting_rows = Gauge(f"{prefix}_waiting_rows", "Rows waiting for a place in the batch.")
        self.adapters = Gauge(f"{prefix}_adapters_loaded", "Adapters in memory.")
        self.adapters_evicted = Counter(f"{prefix}_adapters_evicted_total", "Adapters unloaded to make room.")
        self.grammars = Counter(
            f"{prefix}_grammars_total", "Typed requests, by whether their grammar was compiled.", ("result",)
        )
        self.ready_s = Gauge(f"{prefix}_ready_seconds", "From the program's start to its first generation.")
        self.batch_rows = Histogram(f"{prefix}_batch_rows", "Rows of each decoding step.", ROW_BUCKETS)
        self.first_token_s = Histogram(
            f"{prefix}_first_token_seconds", "From a request's acceptance to its first token.", LATENCY_BUCKETS_S
        )

    def text(self) -> str:
        lines: list[str] = []
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.describes}", f"# TYPE {metric.name} {metric.kind}"]
            lines += [f"{name} {value:g}" for name, value in metric.samples()]
        return "\n".join(lines) + "\n"
