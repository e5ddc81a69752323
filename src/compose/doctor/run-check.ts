import { failed, type Finding, type Verdict } from '../../domain/finding.ts'
import { within } from '../../services/health/within.ts'

/** Longer than the time limits of connections, credentials and the password command. */
const timeoutMs = 25_000

/** A check that throws has failed; `next` is then the next step. */
export async function runCheck(check: string, next: string, work: () => Promise<Verdict>): Promise<Finding> {
  try {
    return { check, ...(await within(timeoutMs, work)) }
  } catch (error) {
    return { check, ...failed(inOneLine(reasonOf(error)), next) }
  }
}

/** Node wraps the reason of a failed connection: once in `cause`, several in `errors`. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const own = error.message || (error as NodeJS.ErrnoException).code || error.name
  return error.cause instanceof Error ? `${own}: ${reasonOf(error.cause)}` : own
}

const mostChars = 600

/** Messages of the libraries are laid out for a log. */
const inOneLine = (message: string) => message.replaceAll(/\s+/g, ' ').trim().slice(0, mostChars)
