// Asks models that judge, as by the lines of a batch of chats: what a model refuses comes as an answer.
import { randomUUID } from 'node:crypto'
import type { Log } from '../../log.ts'
import type { ModelCtx } from '../../services/context.ts'
import { createLineAnswers } from './batch-lines.ts'

const endpoint = '/v1/chat/completions' as const

type Asker = { deps: ModelCtx['deps'] & { log: Pick<Log, 'error'> }; accountId: string; apiKeyId: string | null }

/** @returns a function that throws while a model is away */
export function askingJudges({ deps, accountId, apiKeyId }: Asker) {
  const answerLine = createLineAnswers(deps, deps.log)
  return async (lines: readonly string[], _start: number, signal: AbortSignal) => {
    const answered = lines.map((line) => answerLine({ id: randomUUID(), accountId, apiKeyId, endpoint, line }, signal))
    return { values: (await Promise.all(answered)).map(({ text }) => `${text}\n`).join(''), errors: '' }
  }
}
