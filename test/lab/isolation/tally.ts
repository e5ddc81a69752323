// Counts the attacker's answers by status and code, and what the service took on and finished.
import type { Answer } from './accounts.ts'
import type { AttackRecord, CountedAnswer } from './attack.ts'

export function createTally() {
  const answers = new Map<string, CountedAnswer>()
  const work = { accepted: 0, done: 0 }
  const findings: string[] = []
  return {
    count({ status, code, detail, retryAfterSeconds }: Answer) {
      const key = `${status} ${code} ${retryAfterSeconds === null}`
      const counted = answers.get(key) ?? { status, code, count: 0, detail, retryAfterSeconds }
      counted.count += 1
      answers.set(key, counted)
    },
    accepted: (count: number) => void (work.accepted += count),
    done: (count: number) => void (work.done += count),
    found: (sentence: string) => void findings.push(sentence),
    record: (): Omit<AttackRecord, 'processorShare'> => ({
      answers: [...answers.values()].toSorted((a, b) => b.count - a.count),
      ...work,
      findings,
    }),
  }
}
