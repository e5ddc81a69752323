// The loss history of a job as JSON text. Clients poll it, and it only grows, so each look reads and encodes the new steps only.
import type { TrainingStep } from '../../domain/training-step.ts'
import type { Database } from '../../repositories/database.ts'
import type { NewSteps, SeenSteps } from '../../repositories/training-steps.ts'

/** `steps` are their numbers; `ends` the offsets in `text` where each of them ends. The text has no brackets. */
type Encoded = { attempt: number; steps: number[]; ends: number[]; text: string }

const nothing: Encoded = { attempt: 0, steps: [], ends: [], text: '' }
const keptCharacters = 32 * 1024 * 1024

type Kept = { characters: number; byJob: Map<number, Encoded> }
/** A database has one set of job ids. */
const caches = new WeakMap<Pick<Database, 'trainingSteps'>, Kept>()

/** @returns a JSON list of the steps, in order */
export async function historyText(database: Pick<Database, 'trainingSteps'>, jobId: number): Promise<string> {
  const kept = caches.get(database) ?? { characters: 0, byJob: new Map<number, Encoded>() }
  caches.set(database, kept)
  const before = kept.byJob.get(jobId) ?? nothing
  const news = await database.trainingSteps.since(jobId, seen(before))
  const now = update(before, news)
  keep(kept, jobId, now)
  return `[${now.text}]`
}

/**
 * Clients of the first releases know a history of full tens, validated steps, and the last one, after which no time remains.
 * Trainers report other steps besides.
 */
const isInHistory = ({ step, valid_loss: validated, remaining_time: left }: TrainingStep) =>
  step % 10 === 0 || validated !== undefined || left === 0

const seen = ({ attempt, steps }: Encoded): SeenSteps => ({ attempt, step: steps.at(-1) ?? 0 })

/** Makes a new value: another request may be at work on the old one. */
function update(before: Encoded, { attempt, keptStep, steps: reported }: NewSteps): Encoded {
  const count = before.steps.findLastIndex((step) => step <= keptStep) + 1
  const steps = reported.filter(isInHistory)
  if (steps.length === 0 && count === before.steps.length) return { ...before, attempt }
  const ends = before.ends.slice(0, count)
  const parts = [before.text.slice(0, ends.at(-1) ?? 0)]
  let end = ends.at(-1) ?? 0
  for (const step of steps) {
    const part = `${end === 0 ? '' : ','}${JSON.stringify(step)}`
    parts.push(part)
    ends.push((end += part.length))
  }
  const numbers = before.steps.slice(0, count).concat(steps.map(({ step }) => step))
  return { attempt, steps: numbers, ends, text: parts.join('') }
}

/** Drops the histories that nobody has asked for the longest. */
function keep(kept: Kept, jobId: number, encoded: Encoded) {
  drop(kept, jobId)
  kept.byJob.set(jobId, encoded)
  kept.characters += encoded.text.length
  for (const oldest of kept.byJob.keys()) {
    if (kept.characters <= keptCharacters) return
    drop(kept, oldest)
  }
}

function drop(kept: Kept, jobId: number) {
  kept.characters -= kept.byJob.get(jobId)?.text.length ?? 0
  kept.byJob.delete(jobId)
}
