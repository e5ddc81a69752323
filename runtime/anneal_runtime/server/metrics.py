"""Prometheus numbers of a model server. Labels are routes and status classes only, so that the series stay few."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

PREFIX = "anneal_model_server"
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 80.0)
ROW_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

# They would double the series.
disable_created_metrics()  # type: ignore[no-untyped-call]


class EngineMetrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests_total", "Requests answered.", ("route", "status"))
        self.prompts = self._counter("prompts_total", "Prompts accepted for completion.")
        self.texts = self._counter("texts_total", "Texts accepted for embedding.")
        self.prompt_tokens = self._counter("prompt_tokens_total", "Tokens of accepted prompts.")
        self.generated_tokens = self._counter("generated_tokens_total", "Tokens of finished answers.")
        self.running_rows = self._gauge("running_rows", "Rows in the batch now.")
        self.waiting_rows = self._gauge("waiting_rows", "Rows waiting for a place in the batch.")
        self.adapters = self._gauge("adapters_loaded", "Adapters in memory.")
        self.adapters_evicted = self._counter("adapters_evicted_total", "Adapters unloaded to make room.")
        self.grammars = self._counter(
            "grammars_total", "Typed requests, by whether their grammar was compiled.", ("result",)
        )
        self.ready_s = self._gauge("ready_seconds", "From the program's start to its first generation.")
        self.batch_rows = self._histogram("batch_rows", "Rows of each decoding step.", ROW_BUCKETS)
        self.first_token_s = self._histogram(
            "first_token_seconds", "From a request's acceptance to its first token.", LATENCY_BUCKETS_S
        )

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, describes: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"{PREFIX}_{name}", describes, labels, registry=self.registry)

    def _gauge(self, name: str, describes: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", describes, registry=self.registry)

    def _histogram(self, name: str, describes: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", describes, buckets=buckets, registry=self.registry)
