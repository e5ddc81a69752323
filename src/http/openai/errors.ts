// Refusals in OpenAI's form, in its words where ours differ.
import { z } from 'zod'
import { ServiceError, type InputIssue } from '../../domain/service-error.ts'
import { named } from '../framework/named-schemas.ts'
import type { ErrorFormat, Refusal } from '../framework/problem.ts'

const OpenAiError = named(
  'OpenAiError',
  z.object({
    error: z.object({
      message: z.string().describe('One sentence that says what to fix'),
      type: z.string(),
      param: z.string().nullable().describe('The parameter that is wrong'),
      code: z.string().nullable().describe('A stable word'),
    }),
  }),
)

export const openAiErrorFormat: ErrorFormat = {
  pathPrefix: '/openai/',
  contentType: 'application/json; charset=utf-8',
  schema: OpenAiError,
  bodyOf: ({ status, code, detail, issues }) => ({
    error: { message: detail, type: typeOf(status, code), param: issues[0]?.path || null, code: codeOf(code) },
  }),
}

function typeOf(status: number, code: string): string {
  if (code === 'quota_exceeded') return 'insufficient_quota'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

const codes: Partial<Record<Refusal['code'], string | null>> = {
  invalid_input: null,
  invalid_token: 'invalid_api_key',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'insufficient_quota',
}

const codeOf = (code: string) => (code in codes ? (codes[code] ?? null) : code)

/** Our name of a parameter, then OpenAI's. */
type Words = Readonly<Record<string, string>>

/** Runs a verb of ours; what it refuses speaks of the parameters as the caller called them. */
export async function translateErrors<T>(more: Words, run: () => Promise<T>): Promise<T> {
  const words = { model_name: 'model', ...more }
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.issues.length === 0) throw error
    const issues = error.issues.map(({ path, message }): InputIssue => {
      return { path: pathIn(words, path), message: textIn(words, message) }
    })
    throw new ServiceError(error.code, textIn(words, error.message), { issues })
  }
}

const pathIn = (words: Words, path: string) => words[/^[\w.]*\w/.exec(path)?.[0] ?? ''] ?? words[headOf(path)] ?? path
const headOf = (path: string) => /^\w*/.exec(path)?.[0] ?? ''

const textIn = (words: Words, text: string) =>
  Object.entries(words).reduce(
    (said, [ours, theirs]) => (ours.includes('_') ? said.replaceAll(ours, theirs) : said),
    text,
  )
