// Errors in OpenAI's format, with OpenAI's names of parameters.
import { z } from 'zod'
import { ServiceError, type InputIssue } from '../../domain/service-error.ts'
import { named } from '../kit/named-schemas.ts'
import type { ErrorFormat, Failure } from '../kit/problem.ts'

const OpenAiError = named(
  'OpenAiError',
  z.object({
    error: z
      .object({
        message: z.string().describe('A sentence that says what is wrong'),
        type: z.string().describe('The kind of error, such as invalid_request_error'),
        param: z.string().nullable().describe('The parameter that is wrong'),
        code: z.string().nullable().describe('A machine-readable error code'),
      })
      .describe('The error'),
  }),
)

export const openAiErrorFormat: ErrorFormat = {
  pathPrefix: '/openai/',
  contentType: 'application/json; charset=utf-8',
  schema: OpenAiError,
  bodyOf: (failure) => ({
    error: {
      message: messageOf(failure),
      type: typeOf(failure.status, failure.code),
      param: failure.issues[0]?.path || null,
      code: codeOf(failure),
    },
  }),
}

const maxProblems = 10

/** OpenAI's format has no list of problems, so the message names them. */
function messageOf({ code, detail, issues }: Failure): string {
  if (code === 'invalid_token') return detail.replace('invalid token:', 'Incorrect API key provided (invalid token):')
  const more = issues.length - maxProblems
  const problems = issues.slice(0, maxProblems).map(({ message }) => message)
  const text = issues.length > 1 ? [...problems, ...(more > 0 ? [`${more} more problems.`] : [])].join(' ') : detail
  return text.replaceAll(' /v1/models', ' /openai/v1/models')
}

function typeOf(status: number, code: string): string {
  if (code === 'quota_exceeded') return 'insufficient_quota'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

const codes: Partial<Record<Failure['code'], string | null>> = {
  invalid_input: null,
  invalid_token: 'invalid_api_key',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'insufficient_quota',
}

function codeOf({ code, isBeyondContext }: Failure): string | null {
  if (isBeyondContext) return 'context_length_exceeded'
  return code in codes ? (codes[code] ?? null) : code
}

/** For an id in a body, which the message must name. */
export function notFoundAt(path: string, reason: string): ServiceError {
  const message = `${path}: ${reason}`
  return new ServiceError('not_found', message, { issues: [{ path, message }] })
}

/** Maps our name of a parameter to OpenAI's. */
type ParamNames = Readonly<Record<string, string>>

/** Runs `run` and rewrites its input errors, so that they name the parameters as OpenAI does. */
export async function translateErrors<T>(more: ParamNames, run: () => Promise<T> | T): Promise<T> {
  const names = { model_name: 'model', ...more }
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.issues.length === 0) throw error
    const issues = error.issues.map(({ path, message }): InputIssue => {
      return { path: pathIn(names, path), message: textIn(names, message) }
    })
    throw new ServiceError(error.code, textIn(names, error.message), { issues, isBeyondContext: error.isBeyondContext })
  }
}

const pathIn = (names: ParamNames, path: string) =>
  names[/^[\w.]*\w/.exec(path)?.[0] ?? ''] ?? names[/^\w*/.exec(path)?.[0] ?? ''] ?? path

/** Names without an underscore, such as prompt, are also ordinary words, so they stay. */
const textIn = (names: ParamNames, text: string) =>
  Object.entries(names).reduce(
    (result, [ours, theirs]) => (ours.includes('_') ? result.replaceAll(ours, theirs) : result),
    text,
  )
