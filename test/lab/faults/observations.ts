// Checks each answer of the API about a job against the contract. The rules are written from the contract, not taken from
// the code under test. The numbers are those of the guarantees in docs/reliability.md.
import { openStates, type OpenState } from './plan.ts'

const ends = ['COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED'] as const
type End = (typeof ends)[number]
export type Status = OpenState | End

export type Observation = {
  atMs: number
  status: Status
  reason: string | null
  resumeCount: number
  resumeLimit: number
  modelName: string | null
  steps: { step: number; loss: number }[]
  /** The answer about the job, as it must stay after its end. */
  text: string
}

export type JobAnswer = {
  status: Status
  status_reason: string | null
  status_message: string | null
  resume_count: number
  resume_limit: number
  model_name: string | null
  history: string
  dataset?: { rows: number | null; train_rows: number | null }
}

/** The commands sent since the job was accepted, or since its newest resume. */
export type Asked = { cancelAcknowledged: boolean; resumeSent: boolean }

const onward = { CANCELLED: true, FAILED: true, 'PARTIALLY COMPLETED': true } as const
const moves: Record<Status, Partial<Record<Status, true>>> = {
  CREATED: { QUEUED: true, CANCELLED: true, FAILED: true },
  QUEUED: { 'LOADING DATA': true, ...onward },
  'LOADING DATA': { 'TRAINING MODEL': true, QUEUED: true, ...onward },
  'TRAINING MODEL': { 'SAVING MODEL': true, QUEUED: true, ...onward },
  'SAVING MODEL': { 'EVALUATING MODEL': true, QUEUED: true, ...onward },
  'EVALUATING MODEL': { COMPLETED: true, QUEUED: true, ...onward },
  COMPLETED: {},
  'PARTIALLY COMPLETED': { QUEUED: true },
  CANCELLED: { QUEUED: true },
  FAILED: { QUEUED: true },
}

export const mayMove = (from: Status, to: Status) => moves[from][to] === true
export const isEnd = (status: Status): status is End => (ends as readonly Status[]).includes(status)

export const observationOf = (answer: JobAnswer, atMs: number): Observation => ({
  atMs,
  status: answer.status,
  reason: answer.status_reason,
  resumeCount: answer.resume_count,
  resumeLimit: answer.resume_limit,
  modelName: answer.model_name,
  steps: JSON.parse(answer.history) as Observation['steps'],
  text: JSON.stringify({ ...answer, dataset: ownData(answer) }),
})

/** A job that ended before its rows were prepared tells what the check of its data set finds, which may end later. */
const ownData = ({ dataset }: JobAnswer) => (dataset?.train_rows === null ? undefined : dataset)

export const lastStep = ({ steps }: Observation) => steps.at(-1)?.step ?? 0

/** Grows as the job progresses, and falls when the job is interrupted. */
export const progressOf = (observation: Observation) =>
  isEnd(observation.status) ? openStates.length : openStates.indexOf(observation.status) + lastStep(observation) / 1e9

/** @param losses the losses of an uninterrupted run, by step; a loss of a new step is added */
export function wrongIn(
  before: Observation | null,
  now: Observation,
  { cancelAcknowledged, resumeSent }: Asked,
  losses: Map<number, number>,
): string[] {
  const wrong = [...wrongHistory(now, losses)]
  if (now.resumeCount > now.resumeLimit) wrong.push(`7: resume_count is ${now.resumeCount} of ${now.resumeLimit}`)
  if (cancelAcknowledged && !resumeSent && isEnd(now.status) && now.status !== 'CANCELLED')
    wrong.push(`2: its cancel was acknowledged, and it is ${now.status}`)
  if ((now.status === 'COMPLETED' || now.status === 'PARTIALLY COMPLETED') && now.modelName === null)
    wrong.push(`5: it is ${now.status} without a model`)
  if (!before) return wrong
  if (!isReachable(before.status, now.status, resumeSent))
    wrong.push(`2: it went from ${before.status} to ${now.status}`)
  if (isEnd(before.status) && !resumeSent && before.text !== now.text)
    wrong.push(`2: it changed after its end, from ${before.text} to ${now.text}`)
  if (now.resumeCount < before.resumeCount)
    wrong.push(`7: resume_count went from ${before.resumeCount} to ${now.resumeCount}`)
  return wrong
}

/** The history has every tenth step and the last one. An interruption adds no row and changes none. */
function* wrongHistory({ steps }: Observation, losses: Map<number, number>) {
  for (const [index, { step, loss }] of steps.entries()) {
    if (step !== (index + 1) * 10) yield `7: step ${step} stands where ${(index + 1) * 10} should in the history`
    const known = losses.get(step)
    if (known === undefined) losses.set(step, loss)
    else if (known !== loss) yield `7: the loss of step ${step} is ${loss}; in other runs it is ${known}`
  }
}

/** Allows any number of moves, because not every status is seen. */
function isReachable(from: Status, to: Status, resumeSent: boolean): boolean {
  const reached = new Set<Status>([from])
  for (const status of reached)
    if (!isEnd(status) || resumeSent) for (const next of Object.keys(moves[status]) as Status[]) reached.add(next)
  return reached.has(to)
}
