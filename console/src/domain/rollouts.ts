// The answers of a step of reinforcement, as people look through them.
import type { components } from '../api/types.ts'

type Group = components['schemas']['TrainingRollouts']['groups'][number]
export type ShownSample = Group['samples'][number] & { row: number; prompt: string }

/** Finds the answers with the highest and the lowest rewards, at most this many of each. No answer is in both lists. */
export function bestAndWorst(groups: readonly Group[], most: number) {
  const samples = groups.flatMap(({ row, prompt, samples }) =>
    samples.map((sample): ShownSample => ({ ...sample, row, prompt: textOf(prompt) })),
  )
  const scored = samples.filter(({ reward }) => reward !== null).toSorted((a, b) => (b.reward ?? 0) - (a.reward ?? 0))
  const best = scored.slice(0, most)
  return {
    best,
    worst: scored.slice(best.length).slice(-most),
    unscored: samples.filter(({ reward }) => reward === null),
  }
}

/** A prompt of messages ends in the message that is answered. */
function textOf(prompt: unknown): string {
  if (typeof prompt === 'string') return prompt
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : prompt
  const { content } = (last ?? {}) as { content?: unknown }
  return typeof content === 'string' ? content : JSON.stringify(prompt)
}
