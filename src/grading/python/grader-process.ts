// A grader's process as its starter sees it: each line is answered by one line with the same key. A grader that writes anything
// else, or takes too long, ends.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'

/** `gone`: the process has ended, and the sentence says why. `isLost`: by no fault of the grader, as far as is known. */
export type Answer = { line: string } | { gone: string; isLost?: boolean }

export type GraderProcess = {
  /** Sends a line unless it is null, and waits for the next one. */
  ask: (line: string | null, atMostMs: number) => Promise<Answer>
  /** What the starter of the process wrote before the process was closed in. */
  complaint: () => string
  end: () => void
}

/** Half of what `run_grader.py` reads as the key, in hexadecimal digits. */
const keyBytes = 12
export const wroteItself = 'The grader wrote to the channel of its results.'
export const wasStopped = 'The grader was stopped.'
const answerBytes = 32_768
const complaintCharacters = 4096
const resultDescriptor = 3
const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }

/** Where a process reads, and how it is ended with everything that it started. */
type Ends = { write: (line: string) => void; end: () => void }

type Talk = {
  ask: GraderProcess['ask']
  /** Gets what the process writes. */
  take: (piece: Buffer) => void
  /** Ends the process, and says why. */
  leave: (why: string, isLost?: boolean) => void
}

/** Asks a process line by line. */
export function createTalk({ write, end }: Ends): Talk {
  let waiting: PromiseWithResolvers<Answer> | null = null
  let gone: Extract<Answer, { gone: string }> | null = null
  let pending = Buffer.alloc(0)
  let key = ''

  function leave(why: string, isLost = false) {
    gone ??= isLost ? { gone: why, isLost } : { gone: why }
    waiting?.resolve(gone)
    waiting = null
    end()
  }

  return {
    leave,
    take(piece) {
      pending = Buffer.concat([pending, piece])
      const at = pending.indexOf('\n')
      const isLine = at === pending.length - 1 && pending.toString('utf8', 0, key.length) === key
      if (!waiting || pending.length > answerBytes || (at >= 0 && !isLine)) return leave(wroteItself)
      if (at < 0) return
      waiting.resolve({ line: pending.toString('utf8', key.length, at) })
      waiting = null
      pending = Buffer.alloc(0)
    },
    async ask(line, atMostMs) {
      if (gone !== null) return gone
      waiting = Promise.withResolvers<Answer>()
      const { promise } = waiting
      const late = setTimeout(() => leave(`The grader took more than ${atMostMs / 1000} seconds.`), atMostMs)
      if (line !== null) {
        // A sample cannot know the key of the next one.
        key = randomBytes(keyBytes).toString('hex')
        write(`${key}${line}\n`)
      }
      return promise.finally(() => clearTimeout(late))
    },
  }
}

export function startProcess([command, words]: [string, string[]]): GraderProcess {
  // In a session of its own, which has a priority of its own.
  const child = spawn(command, words, { env, detached: true, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] })
  const results = child.stdio[resultDescriptor] as Readable
  let complaint = ''
  const { ask, take, leave } = createTalk({
    write: (line) => child.stdin?.write(line),
    end() {
      results.destroy()
      // All of its processes: bubblewrap's first one ends with it, and with that one its process namespace.
      child.kill('SIGKILL')
    },
  })
  results.on('data', take)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, complaintCharacters)
  })
  child.once('error', ({ message }) => leave(message))
  // Not on exit: its last answer may still be in the pipe.
  child.once('close', (code, signal) => leave(processEnded(signal ?? `exit code ${code}`)))
  // The process may end before it reads; 'close' tells.
  for (const stream of [child.stdin, results]) stream?.on('error', () => undefined)
  return { ask, complaint: () => complaint, end: () => leave(wasStopped) }
}

export const processEnded = (how: string) => `The grader's process ended: ${how}.`
