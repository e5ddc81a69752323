// What an attack must not achieve, and how the service must answer it. One sentence for each thing that is wrong.
import type { CountedAnswer } from './attack.ts'
import type { ProcessReport } from './process-memory.ts'
import type { AttackResult, ProbeResult } from './run-attack.ts'

/** Times are judged in the full run only: on a machine that others use, they prove nothing. */
export type Bounds = { maxRatio: number | null; maxGrowthMb?: Record<string, number> | undefined }

export function judge(result: AttackResult, { maxRatio, maxGrowthMb = {} }: Bounds): string[] {
  const { probes, attacker, memory, restarts, findings } = result
  return [
    ...probes.flatMap(refusalsOf),
    ...probes.flatMap((probe) => (maxRatio === null ? [] : slownessOf(probe, maxRatio))),
    ...memory.flatMap((process) => growthOf(process, maxGrowthMb[process.name] ?? Infinity)),
    ...restarts.map((name) => `The process ${name} was restarted.`),
    ...attacker.answers.flatMap(wrongnessOf),
    ...findings,
  ]
}

function refusalsOf({ name, underAttack: { refused, count } }: ProbeResult): string[] {
  return Object.entries(refused).map(([kind, times]) => `The victim's "${name}" got ${kind}: ${times} of ${count}.`)
}

function slownessOf({ name, alone, underAttack, ratio }: ProbeResult, maxRatio: number): string[] {
  if (ratio <= maxRatio) return []
  const times = `${Math.round(underAttack.p99Ms)} ms, alone ${Math.round(alone.p99Ms)} ms`
  return [`The victim's "${name}" took ${ratio.toFixed(1)} times as long at p99: ${times}.`]
}

function growthOf({ name, beforeMb, peakMb }: ProcessReport, maxMb: number): string[] {
  if (peakMb - beforeMb <= maxMb) return []
  return [`The process ${name} grew from ${beforeMb} to ${peakMb} MB; it may grow by ${maxMb} MB.`]
}

/** Refusals of a limit: 429 and 503. The others say that a request was wrong (4xx) or that the attacker left (0). */
function wrongnessOf({ status, code, count, detail, retryAfterSeconds }: CountedAnswer): string[] {
  const answers = `The attacker got ${status} ${code ?? ''} ${count} times`
  if (status === 0) return code === 'given_up' ? [] : [`${answers}: ${detail}`]
  if (status < 500 && status !== 429) return []
  if (status !== 429 && status !== 503) return [`${answers}: ${detail}`]
  return [
    ...(retryAfterSeconds === null ? [`${answers} without Retry-After.`] : []),
    ...(detail !== null && namesLimit(detail) ? [] : [`${answers}, and the sentence names no limit: ${detail}`]),
  ]
}

const namesLimit = (detail: string) => /\d|\bmost\b|\blimit\b|\bfull\b|\bshare\b/.test(detail)
