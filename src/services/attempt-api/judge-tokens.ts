// Tokens of models that judge the answers of reinforcement jobs: an account has so many a day. Beyond them its samples wait.
import { ServiceError } from '../../domain/service-error.ts'
import { parsedJson } from '../../domain/parsed-json.ts'
import type { Scoring } from '../../grading/score.ts'
import type { Limits } from '../limits/limits.ts'

type Ask = NonNullable<Scoring['ask']>
type Budget = { limits: Pick<Limits, 'judgeTokens'>; accountId: string }

/** The answers that are under way when the last tokens go are still counted. @returns `ask` within the account's tokens of the day */
export const withinJudgeTokens =
  ({ limits: { judgeTokens }, accountId }: Budget, ask: Ask): Ask =>
  async (lines, start, signal) => {
    const { used, untilMs } = await judgeTokens.usedBy(accountId)
    if (used >= judgeTokens.perDay)
      throw new ServiceError(
        'quota_exceeded',
        `This account's judges have used ${used} tokens, and may use ${judgeTokens.perDay} a day. Grading goes on in ${hoursIn(untilMs)}.`,
        { retryAfterSeconds: Math.ceil(untilMs / 1000) },
      )
    const answers = await ask(lines, start, signal)
    await judgeTokens.count(accountId, tokensIn(answers.values))
    return answers
  }

const hoursIn = (ms: number) => {
  const hours = Math.max(1, Math.ceil(ms / 3_600_000))
  return hours === 1 ? 'an hour' : `${hours} hours`
}

/** Of answers as lines of JSON. */
const tokensIn = (values: string): number =>
  values
    .split('\n')
    .filter((line) => line !== '')
    .reduce((sum, line) => {
      const answer = parsedJson(line) as { response?: { body?: { usage?: { total_tokens?: number } } } } | undefined
      return sum + (answer?.response?.body?.usage?.total_tokens ?? 0)
    }, 0)
