// Passwords that end soon, such as the tokens of RDS and Cloud SQL: a command of the operator prints each new one.
import { execFile } from 'node:child_process'
import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

/** How long the command may take. */
export const passwordCommandMs = 10_000
/** Many connections that open together ask once. Such tokens live for a quarter of an hour at least. */
const keepMs = 60_000
const maxPasswordBytes = 64 * 1024

export type PasswordCommand = { words: readonly string[]; environment: NodeJS.ProcessEnv }

/** @returns what gives a password for each new connection */
export function createPasswordCommand(command: PasswordCommand, to: ClientConfig): () => Promise<string> {
  let asked: { password: Promise<string>; atMs: number } | undefined
  return () => {
    if (!asked || performance.now() - asked.atMs > keepMs) {
      const password = run(command, to)
      const mine = (asked = { password, atMs: performance.now() })
      password.catch(() => {
        if (asked === mine) asked = undefined
      })
    }
    return asked.password
  }
}

/** For programs that take only a URL. */
export async function urlWithPassword({
  url,
  passwordCommand,
}: {
  url: string
  passwordCommand: PasswordCommand | null
}) {
  const parsed = parseIntoClientConfig(url)
  if (parsed.password || !passwordCommand) return url
  const password = await createPasswordCommand(passwordCommand, parsed)()
  return Object.assign(new URL(url), { password: encodeURIComponent(password) }).href
}

/** The command finds in PGHOST, PGPORT, PGUSER and PGDATABASE what the password is for. */
function run({ words, environment }: PasswordCommand, { host, port, user, database }: ClientConfig): Promise<string> {
  const [program = '', ...args] = words
  const connection = { PGHOST: host, PGPORT: port && String(port), PGUSER: user, PGDATABASE: database || undefined }
  const env = { ...environment, ...connection } as NodeJS.ProcessEnv
  const options = { env, timeout: passwordCommandMs, killSignal: 'SIGKILL', maxBuffer: maxPasswordBytes } as const
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout) => {
      const password = stdout.replace(/\r?\n$/, '')
      if (!error && password !== '') return resolve(password)
      // Not the error itself: its message repeats what the command has printed.
      const reason = error ? whyItFailed(error) : 'it printed nothing'
      reject(new PasswordCommandFailed(`ANNEAL_DATABASE_PASSWORD_COMMAND gave no password: ${reason}. Run it by hand.`))
    })
  })
}

type Failure = { code?: string | number | null | undefined; killed?: boolean | undefined }

function whyItFailed({ code, killed }: Failure): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it printed too much'
  if (killed) return `it took longer than ${passwordCommandMs / 1000} s`
  return typeof code === 'number' ? `it ended with exit code ${code}` : `it cannot be started (${code})`
}

/** Counts as an outage, since the command may succeed the next time. */
class PasswordCommandFailed extends Error {
  override name = 'PasswordCommandFailed'
  readonly code = 'P1001'
}
