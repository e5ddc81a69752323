"""The answers of a step with their rewards: sampled, committed, graded, committed. What is committed is never done
again: a later attempt reads it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

import torch

from anneal_runtime.row_sequences import Sequence, labelled
from anneal_runtime.trainer.failures import RolloutsLost, Stopped
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.advantages import group_advantages
from anneal_runtime.trainer.prompts import Prompt
from anneal_runtime.trainer.rollouts.grade import Grading, check_graded
from anneal_runtime.trainer.rollouts.record import REWARDS, SAMPLES, Line, Record, Split, rounded
from anneal_runtime.trainer.rollouts.sample import Asked, Place, Sampled, Sampler
from anneal_runtime.trainer.rollouts.serve import ServedSampler
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.training_args import Note

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks


STOPPED = "Asked to stop while answers were sampled or graded."


@dataclass(frozen=True)
class Collected:
    """Lines of the committed files, and how long their making took: nothing for those of an earlier attempt."""

    samples: list[Line]
    rewards: list[Line]
    sampling_s: float = 0.0
    grading_s: float = 0.0


@dataclass
class Collector:
    sampler: Sampler | ServedSampler
    forward: ForwardPass
    prompts: dict[Split, list[Prompt]]
    # Answers to each prompt.
    counts: dict[Split, int]
    scale_rewards: str
    record: Record
    grading: Grading
    note: Note
    ranks: Ranks | None = None
    _told_of_device: bool = field(default=False, init=False)

    def collect(
        self, split: Split, step: int, rows: list[int], stop_requested: Callable[[], bool], *, is_past: bool = False
    ) -> Collected:
        """`rows` are places in `prompts`. `is_past`: the policy of the step is gone, so nothing is sampled. Raises
        EndsBetweenSteps, between two commits.
        """
        prompts = [self.prompts[split][row] for row in rows]
        if self.forward.form is not None:
            self.forward.form.renew()
        since = time.monotonic()
        samples = self._agreed(lambda: self.record.find(step, SAMPLES[split]))
        if samples is None and is_past:
            raise RolloutsLost(f"The answers that step {step} has sampled are gone, and later steps learn from them.")
        if samples is None:
            if isinstance(self.sampler, ServedSampler):
                self._alone(partial(self.sampler.publish, split, step))
            samples = self._sample(split, step, prompts, stop_requested)
            self._alone(lambda: self.record.commit(step, SAMPLES[split], samples or []))
        else:
            self._check(step, prompts, samples)
        sampled_at = time.monotonic()
        rewards = self._agreed(lambda: self._rewards(split, step, samples or [], stop_requested))
        assert rewards is not None
        return Collected(samples, rewards, sampled_at - since, time.monotonic() - sampled_at)

    def _rewards(self, split: Split, step: int, samples: list[Line], stop_requested: Callable[[], bool]) -> list[Line]:
        known = self.record.find(step, REWARDS[split])
        if known is not None:
            return known
        graded = self.grading.grade(step, split, samples, self._pulse(stop_requested))
        # JSON has whole numbers without a point.
        values = torch.tensor(
            [[math.nan if each is None else float(each) for each in line["rewards"]] for line in graded]
        )
        advantages = group_advantages(values, self.scale_rewards).tolist()
        lines = [{**line, "advantages": rounded(own)} for line, own in zip(graded, advantages, strict=True)]
        # Grades that end the job are not committed: a resume may ask for them again.
        check_graded(step, samples, lines, self.grading.on_error)
        self.record.commit(step, REWARDS[split], lines)
        return lines

    def _sample(self, split: Split, step: int, prompts: list[Prompt], stop_requested: Callable[[], bool]) -> list[Line]:
        """Each rank answers every n-th prompt. Some answers take minutes more than others."""
        ranks = self.ranks
        if ranks is None:
            return self._answers(split, step, prompts, self._pulse(stop_requested))
        size, mine = ranks.world_size, prompts[ranks.rank :: ranks.world_size]
        groups = ranks.apart(lambda pulse: self._answers(split, step, mine, pulse))
        shares = [cast(list[Line], json.loads(ranks.tell(json.dumps(groups), each))) for each in range(size)]
        if ranks.stop_agreed:
            raise Stopped(STOPPED)
        return [shares[number % size][number // size] for number in range(len(prompts))]

    def _answers(self, split: Split, step: int, prompts: list[Prompt], pulse: Callable[[], None]) -> list[Line]:
        asked = [
            Asked(Place(split, step, prompt.row, index), prompt.tokens, bool(prompt.tools))
            for prompt in prompts
            for index in range(self.counts[split])
        ]
        sampled = self.sampler.sample(asked, pulse) if asked else []
        old = self._old_logps(asked, sampled, pulse) if split == "train" else None
        return [
            self._group(prompt, place, sampled, old, split)
            for place, prompt in zip(range(0, len(asked), self.counts[split]), prompts, strict=True)
        ]

    def _group(
        self, prompt: Prompt, first: int, sampled: list[Sampled], old: list[torch.Tensor] | None, split: Split
    ) -> Line:
        lines = []
        for index in range(self.counts[split]):
            each = sampled[first + index]
            line = {
                "index": index,
                "tokens": each.tokens,
                "text": each.text,
                "tool_calls": each.tool_calls,
                "finish_reason": each.finish_reason,
            }
            if old is not None:
                line |= {"logps": rounded(each.logps), "old_logps": rounded(old[first + index].tolist())}
            lines.append(line)
        return {
            "row": prompt.row,
            "prompt": prompt.shown,
            "item": prompt.item,
            "device": self._device,
            "samples": lines,
        }

    def _old_logps(self, asked: list[Asked], sampled: list[Sampled], pulse: Callable[[], None]) -> list[torch.Tensor]:
        rows = EncodedRows()
        for each, answer in zip(asked, sampled, strict=True):
            rows.add(sequence_of(each.prompt, answer.tokens))
        return self.forward.answer_token_logps(rows, list(range(rows.sequence_count)), pulse)

    @property
    def _device(self) -> str:
        device = self.forward.device
        return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type

    def _check(self, step: int, prompts: list[Prompt], samples: list[Line]) -> None:
        if [line["row"] for line in samples] != [prompt.row for prompt in prompts]:
            raise RolloutsLost(f"The committed answers of step {step} are to other prompts than the step has.")
        devices = {line["device"] for line in samples} - {self._device}
        if devices and not self._told_of_device:
            self._told_of_device = True
            self.note(
                "replayed_on_other_device",
                f"Step {step} learns from answers that were sampled on {', '.join(sorted(devices))}, and now runs on "
                f"{self._device}, which rounds differently. The ratios use the log-probabilities of then.",
            )

    def _pulse(self, stop_requested: Callable[[], bool]) -> Callable[[], None]:
        def pulse() -> None:
            if stop_requested():
                raise Stopped(STOPPED)

        return pulse

    def _agreed(self, work: Callable[[], list[Line] | None]) -> list[Line] | None:
        """What rank 0 comes to, on all ranks."""
        if self.ranks is None:
            return work()
        found = json.dumps(self.ranks.awaiting(work))
        return cast("list[Line] | None", json.loads(self.ranks.tell(found, 0)))

    def _alone(self, work: Callable[[], None]) -> None:
        """Rank 0 does it, before any goes on."""
        if self.ranks is None:
            work()
        else:
            self.ranks.awaiting(work)


def sequence_of(prompt: list[int], answer: list[int]) -> Sequence:
    return labelled(prompt + answer, len(prompt))
