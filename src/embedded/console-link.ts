// The link that `npm start` prints: it opens the console signed in.
import type { Connection } from './connection.ts'

const timeoutMs = 5_000

/** @returns the address of the console's sign-in page when the api makes no link */
export async function consoleLink({ apiUrl, apiKey }: Pick<Connection, 'apiUrl' | 'apiKey'>): Promise<string> {
  try {
    const response = await fetch(`${apiUrl}/v1/console/links`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const { path } = (await response.json()) as { path?: string }
    return apiUrl + (response.ok && path ? path : '/console')
  } catch {
    return `${apiUrl}/console`
  }
}
