"""What a run needs to sample its own answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anneal_runtime.model_source import LoadedModel
from anneal_runtime.trainer.answer_form import AnswerForm
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.reference import StartingModel
from anneal_runtime.trainer.objectives.sampled import SampledReinforcement
from anneal_runtime.trainer.rollouts.collect import Collector
from anneal_runtime.trainer.rollouts.grade import Grading, GradingApi
from anneal_runtime.trainer.rollouts.held_out_rewards import HeldOutRewards
from anneal_runtime.trainer.rollouts.record import Record
from anneal_runtime.trainer.rollouts.sample import Sampler
from anneal_runtime.trainer.rollouts.serve import ServedSampler, Servers
from anneal_runtime.trainer.training_args import Note
from anneal_runtime.trainer.training_data import HeldOutRows, TrainingData

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks
    from anneal_runtime.trainer.training_run import Plan


@dataclass(frozen=True)
class RolloutPlan:
    """Where answers are kept, graded and sampled, the names of the graders, and the form of answers as a grammar.
    Without servers the trainer samples.
    """

    record: Record
    api: GradingApi
    graders: list[str]
    servers: Servers | None = None
    grammar: str | None = None

    def form(self, base: LoadedModel) -> AnswerForm | None:
        return None if self.grammar is None else AnswerForm(self.grammar, base)

    def begin(
        self,
        plan: Plan,
        base: LoadedModel,
        model: PeftModel,
        forward: ForwardPass,
        data: TrainingData,
        note: Note,
        ranks: Ranks | None,
    ) -> Sampling:
        method, held_out = plan.method, data.held_out
        collector = Collector(
            sampler=self._sampler(plan, base, model, forward.form, note),
            forward=forward,
            prompts={"train": data.train.prompts, "held_out": [] if held_out is None else held_out.prompts},
            counts={"train": int(method["samples_per_prompt"]), "held_out": int(method["eval_samples"])},
            scale_rewards=method["scale_rewards"],
            record=self.record,
            grading=Grading(self.api, method["on_grader_error"], note),
            note=note,
            ranks=ranks,
        )
        return Sampling(plan, collector, self.graders, held_out)

    def _sampler(
        self, plan: Plan, base: LoadedModel, model: PeftModel, form: AnswerForm | None, note: Note
    ) -> Sampler | ServedSampler:
        method, seed, most = plan.method, plan.args.seed, int(plan.method["max_completion_tokens"])
        if self.servers is not None:
            return ServedSampler(model, base, self.servers, plan.origin, plan.work_dir, note, seed, most)
        top_p = float(method["top_p"])
        return Sampler(model, base, seed=seed, temperature=method.temperature, top_p=top_p, max_tokens=most, form=form)


@dataclass(frozen=True)
class Sampling:
    """`data` are the held-out prompts; None without any."""

    plan: Plan
    collector: Collector
    graders: list[str]
    data: HeldOutRows | None

    def objective(self, start: StartingModel | None) -> SampledReinforcement:
        return SampledReinforcement(self.plan.method, start, self.collector, self.graders)

    def held_out(self, step: Callable[[], int]) -> HeldOutRewards | None:
        """`step` says how many updates are done."""
        if self.data is None:
            return None
        return HeldOutRewards(self.collector, self.data.used, self.data.parts, step)
