"""Answers that model servers sample, through the service."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.rollouts import Service, by_letter, method, prompts
from support.trainer_process import TINY
from support.training import USUAL_ARGS, Training, train

from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.trainer import failures
from anneal_runtime.trainer.adapter import Origin, add_adapter, trainable
from anneal_runtime.trainer.objectives import sampled
from anneal_runtime.trainer.rollouts import serve
from anneal_runtime.trainer.rollouts.prepare import RolloutPlan
from anneal_runtime.trainer.rollouts.sample import Asked, Place
from anneal_runtime.trainer.rollouts.serve import ServedSampler

LOADED = load_causal_lm(TINY, torch.device("cpu"))
MODEL = add_adapter(LOADED.model, replace(USUAL_ARGS, r_value=4, lora_alpha=4), print)
ORIGIN = Origin("anneal-tiny", "0" * 64, "1" * 64)


class Servers:
    """A call brings half of its answers, of random tokens."""

    def __init__(self, logp: float = -4.0) -> None:
        self.logp, self.sizes, self.policies = logp, list[int](), list[int]()
        self.away: str | None = None
        self.seeds: set[str] = set()

    def publish(self, step: int, folder: Path) -> None:
        assert sorted(path.name for path in folder.iterdir())[:2] == [
            "adapter_config.json",
            "adapter_model.safetensors",
        ]
        self.policies.append(step)

    def sample(self, policy_step: int, prompts: list[dict[str, Any]]) -> dict[str, Any]:
        assert policy_step == self.policies[-1]
        asked = [(prompt, each) for prompt in prompts for each in prompt["answers"]]
        self.sizes.append(len(asked))
        now = [] if self.away else asked[: max(1, len(asked) // 2)]
        self.seeds |= {each["seed"] for _, each in now}
        places = [{"row": prompt["row"], "index": each["index"]} for prompt, each in asked]
        done = [
            {**place, "tokens": tokens, "logps": [self.logp] * len(tokens), "finish_reason": "length"}
            for place, (prompt, each) in zip(places, now, strict=False)
            for tokens in [random.Random(each["seed"]).choices(range(5, 500), k=prompt["max_tokens"])]
        ]
        return {"sampled": done, "waiting": places[len(now) :], "waiting_for": self.away}


def sampler(servers: Servers, folder: Path, notes: list[str], most: int = 6) -> ServedSampler:
    return ServedSampler(MODEL, LOADED, servers, ORIGIN, folder, lambda _code, text: notes.append(text), 7, most)


def asked(rows: int, answers: int) -> list[Asked]:
    return [Asked(Place("train", 3, row, index), [5, 6, 7], False) for row in range(rows) for index in range(answers)]


def test_answers_are_asked_for_in_bounded_calls_by_the_streams_of_inline_sampling(tmp_path: Path) -> None:
    servers, wanted = Servers(), asked(rows=100, answers=4)
    drawn = sampler(servers, tmp_path, [])
    drawn.publish("train", 3)
    found = drawn.sample(wanted)
    assert servers.policies == [2] and max(servers.sizes) == 256 and not list(tmp_path.iterdir())
    assert servers.seeds == {str(each.place.stream(7)) for each in wanted}
    expected = [random.Random(str(each.place.stream(7))).choices(range(5, 500), k=6) for each in wanted]
    assert [each.tokens for each in found] == expected
    # The context leaves less room than the job.
    long = [Asked(Place("train", 3, 0, 0), [5] * 1020, False)]
    assert len(sampler(servers, tmp_path, []).sample(long)[0].tokens) == 4


def test_the_token_that_ends_an_answer_is_learned_and_not_shown(tmp_path: Path) -> None:
    servers, end = Servers(), LOADED.tokenizer.eos_token_id
    said = LOADED.tokenizer("teal", add_special_tokens=False)["input_ids"]
    answer = {"row": 0, "index": 0, "tokens": [*said, end], "logps": [-1.0] * (len(said) + 1), "finish_reason": "stop"}
    servers.sample = lambda *_: {"sampled": [answer], "waiting": [], "waiting_for": None}  # type: ignore[method-assign]
    (found,) = sampler(servers, tmp_path, []).sample(asked(1, 1))
    assert (found.text, found.tokens[-1], found.finish_reason) == ("teal", end, "stop")


def test_an_attempt_that_only_waits_for_a_server_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "PATIENCE_S", 0.3)
    servers, notes = Servers(), list[str]()
    servers.away = "The model tiny is not ready."
    drawn = sampler(servers, tmp_path, notes)
    drawn.publish("held_out", 2)
    with pytest.raises(failures.SamplerAway, match=r"The model tiny is not ready\.") as left:
        drawn.sample(asked(1, 2))
    assert failures.explain(left.value)[:2] == ("sampler_away", 74)
    assert notes == ["The model tiny is not ready."], "told once"


def test_a_full_disk_ends_the_attempt_without_a_fault(tmp_path: Path) -> None:
    (tmp_path / "policy-1").write_text("not a folder")
    with pytest.raises(failures.SamplerAway, match="cannot be written") as left:
        sampler(Servers(), tmp_path, []).publish("held_out", 1)
    assert failures.explain(left.value)[:2] == ("sampler_away", 74)


def test_weights_that_are_not_finite_are_not_published(tmp_path: Path) -> None:
    parameter = next(iter(trainable(MODEL).values()))
    kept = parameter.detach().clone()
    with torch.no_grad():
        parameter.fill_(torch.nan)
    with pytest.raises(failures.Diverged):
        sampler(Servers(), tmp_path, []).publish("train", 1)
    with torch.no_grad():
        parameter.copy_(kept)


def test_a_token_that_the_sampler_finds_unlikely_counts_at_most_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, logp: float) -> dict[str, Any]:
        service, servers = Service(by_letter), Servers(logp)
        plan = RolloutPlan(service, service, service.graders, servers)
        training = Training(tmp_path / name)
        how = method(rollouts="server")
        train(
            tmp_path / name, prompts(4), None, method=how, rollouts=plan, max_steps=1, batch_size=2, training=training
        )
        return training.rows[1]

    clipped = run("clipped", -60.0)
    assert clipped["series"]["sampling/importance_sampling_ratio/mean"] == 3.0
    monkeypatch.setattr(sampled, "LARGEST_RATIO_TO_SAMPLER", 1.0)
    assert clipped["grad_norm"] == pytest.approx(3 * run("plain", -60.0)["grad_norm"], rel=1e-5)
