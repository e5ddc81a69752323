"""Has model servers sample the answers: each policy is published as an adapter, which they load."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from anneal_runtime.internal_api import InternalApi
from anneal_runtime.model_source import LoadedModel, context_length, end_tokens
from anneal_runtime.trainer.adapter import CANNOT_WRITE, Origin, save_adapter, trainable
from anneal_runtime.trainer.artifacts import publish
from anneal_runtime.trainer.failures import Diverged, SamplerAway
from anneal_runtime.trainer.rollouts.grade import FIRST_PAUSE_S, LONGEST_PAUSE_S
from anneal_runtime.trainer.rollouts.record import Split
from anneal_runtime.trainer.rollouts.sample import Asked, Place, Sampled, sampled_of
from anneal_runtime.trainer.rollouts.waiting import pulsing, wait
from anneal_runtime.trainer.training_args import Note

if TYPE_CHECKING:
    from peft import PeftModel

# One call asks for so much at most. The tokens are the most that its answers may have.
MOST_ANSWERS, MOST_TOKENS = 256, 1 << 18
# A server may need minutes to start. An attempt that only waits gives its place to others after so long.
PATIENCE_S = 600.0


class Servers(Protocol):
    def publish(self, step: int, folder: Path) -> None:
        """Returns once answers may be sampled from the policy after so many updates. The first one stays."""

    def sample(self, policy_step: int, prompts: list[dict[str, Any]]) -> dict[str, Any]: ...


class JobServers:
    """Through the service, which loads the policy where it samples."""

    def __init__(self, api: InternalApi) -> None:
        self._api = api
        self.sample = api.sample

    def publish(self, step: int, folder: Path) -> None:
        publish(self._api, "policy", step, folder, before_commit=lambda: None)


def policy_step(split: Split | str, step: int) -> int:
    """The updates that the policy of a sampling has seen: an update learns from answers of the policy before it."""
    return step - 1 if split == "train" else step


@dataclass
class ServedSampler:
    """Servers take temperature and top_p from the job. An answer draws from the same stream as it does inline."""

    model: PeftModel
    base: LoadedModel
    servers: Servers
    origin: Origin
    work_dir: Path
    note: Note
    seed: int
    max_tokens: int

    def __post_init__(self) -> None:
        model = self.model.get_base_model()
        self._ends = frozenset(end_tokens(model.generation_config, self.base.tokenizer))
        self._context = context_length(model.config)
        longest = min(self.max_tokens, self._context)
        self._at_once = max(1, min(MOST_ANSWERS, MOST_TOKENS // longest))
        self._published = -1
        self._told = set[str]()

    def publish(self, split: Split, step: int) -> None:
        """Call before the sampling of a step, in one process."""
        updates = policy_step(split, step)
        if updates == self._published:
            return
        if not all(bool(torch.isfinite(weights).all()) for weights in trainable(self.model).values()):
            raise Diverged("The training diverged: its weights are not finite. Use a lower learning_rate.")
        folder = self.work_dir / f"policy-{updates}"
        try:
            save_adapter(self.model, folder, self.origin, updates)
        except CANNOT_WRITE as error:
            # The next attempt has a disk of its own.
            raise SamplerAway(f"The policy of step {updates} cannot be written: {error}") from error
        self.servers.publish(updates, folder)
        shutil.rmtree(folder)
        self._published = updates

    def sample(self, asked: list[Asked], pulse: Callable[[], None] = lambda: None) -> list[Sampled]:
        """In order. `pulse` is called while servers are waited for; what it raises ends the sampling."""
        found: dict[Place, Sampled] = {}
        pause_s, last_gain = FIRST_PAUSE_S, time.monotonic()
        while waiting := [each for each in asked if each.place not in found]:
            chunk = waiting[: self._at_once]
            place = chunk[0].place
            asking = partial(self.servers.sample, policy_step(place.split, place.step), self._prompts(chunk))
            answer = pulsing(asking, pulse)
            by_place = {(each.place.row, each.place.index): each for each in chunk}
            for each in answer["sampled"]:
                own = by_place[each["row"], each["index"]]
                found[own.place] = self._sampled(own, each)
            self._tell(answer["waiting_for"])
            pulse()
            now = time.monotonic()
            if answer["sampled"] or answer["waiting_for"] is None:
                pause_s, last_gain = FIRST_PAUSE_S, now
            elif now - last_gain > PATIENCE_S:
                raise SamplerAway(f"No model server has sampled for ten minutes. {answer['waiting_for']}")
            if answer["waiting"]:
                wait(pause_s, pulse)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return [found[each.place] for each in asked]

    def _prompts(self, chunk: list[Asked]) -> list[dict[str, Any]]:
        return [
            {
                "row": row,
                "tokens": own[0].prompt,
                "max_tokens": min(self.max_tokens, self._context - len(own[0].prompt)),
                # As text: JSON's numbers end at 2^53 in other languages.
                "answers": [{"index": each.place.index, "seed": str(each.place.stream(self.seed))} for each in own],
            }
            for row, own in ((row, list(group)) for row, group in groupby(chunk, lambda each: each.place.row))
        ]

    def _sampled(self, asked: Asked, answer: dict[str, Any]) -> Sampled:
        tokens = list(answer["tokens"])
        said = tokens[:-1] if tokens[-1:] and tokens[-1] in self._ends else tokens
        return sampled_of(self.base.tokenizer, asked, tokens, said, list(answer["logps"]), answer["finish_reason"])

    def _tell(self, sentence: str | None) -> None:
        if sentence is not None and sentence not in self._told:
            self._told.add(sentence)
            self.note("waiting_for_sampler", sentence)
