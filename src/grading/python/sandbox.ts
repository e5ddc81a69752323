// Where graders run on this machine: finds the interpreter and bubblewrap, and lends sandboxes.
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { graderImages, type ImageTag, type PythonProgram } from '../../domain/python-grader.ts'
import { createThreads } from '../../worker-thread-pool.ts'
import { sandboxCommand, type Interpreter } from './bubblewrap.ts'
import type { Answer } from './grader-process.ts'
import type { Question, Reply } from './starter-thread.ts'

/**
 * A sandbox in which no grader has begun, or why there is none: a sentence for users, and a reason for the operator. `mayPass`:
 * to ask again later may help.
 */
export type Opened =
  { ask: (line: string, atMostMs: number) => Promise<Answer> } | { refusal: string; reason: string; mayPass?: boolean }

export type Asked = { accountId: string; grader: PythonProgram; signal: AbortSignal | undefined }
/** Of one account: how many programs run, and how many may. `where`: pods of all processes, or sandboxes of this one. */
export type ProgramsOfAccount = { limit: number; used: number; where: 'pods' | 'process' }
export type Sandbox = {
  programsOf: (accountId: string) => Promise<ProgramsOfAccount>
  /** Lends a sandbox to `work`, and ends what runs in it afterwards. Accounts take turns. @throws as `work`, or the signal's reason */
  use: <T>(asked: Asked, work: (opened: Opened) => Promise<T>) => Promise<T>
}

type Found = Interpreter & { packages: Record<string, string> }

const run = promisify(execFile)
const startMs = 30_000
const sandboxesOfAccount = 2
/** Another account finds a place while one uses all of its own. */
const sandboxes = Math.max(2 * sandboxesOfAccount, availableParallelism())

const describing = `
import importlib.metadata, json, os, sys
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "prefix": sys.base_prefix,
    "folders": [folder for folder in sys.path if folder.endswith("-packages") and os.path.isdir(folder)],
    "packages": {found.name.lower(): found.version for found in importlib.metadata.distributions()},
}))`

/** @param python the interpreter of graders, with their packages */
export function createSandbox(python: string): Sandbox {
  let found: Promise<Found> | null = null
  const threads = createThreads(new URL('./starter-thread.ts', import.meta.url), {
    atMost: sandboxes,
    atMostOfAccount: sandboxesOfAccount,
    heapLimitMegabytes: 128,
  })

  return {
    programsOf: (accountId) =>
      Promise.resolve({ limit: sandboxesOfAccount, used: threads.lentTo(accountId), where: 'process' }),

    async use({ accountId, grader: { image_tag: imageTag }, signal }, work) {
      try {
        await (found ??= describe(python))
      } catch (error) {
        found = null
        return work(missing('the Python of graders does not run', error))
      }
      const interpreter = await found
      const lacking = imageTag && packageLacking(interpreter, imageTag)
      if (lacking) return work(missing(`image_tag ${imageTag} needs ${lacking}, which is not installed`, python))
      signal?.throwIfAborted()
      const stopped = Promise.withResolvers<never>()
      const { port1: stopping, port2: stop } = new MessageChannel()
      const end = () => {
        stopping.postMessage('end')
        stopped.reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', end)
      // Without the signal: it would end the thread, which has to collect the process that it started.
      const used = threads.use(
        async (askThread) => {
          if (signal?.aborted) return { error: signal.reason as unknown }
          const ask = (question: Question, given?: [MessagePort]) => askThread(question, given) as Promise<Reply>
          const started = await ask({ start: sandboxCommand(interpreter), stop, atMostMs: startMs }, [stop])
          const opened = 'gone' in started ? whyNotStarted(started) : { ask: askLine(ask) }
          // What `work` throws must not end the thread either.
          return work(opened).then(
            (done) => ({ done }),
            (error: unknown) => ({ error }),
          )
        },
        undefined,
        accountId,
      )
      try {
        const result = await Promise.race([used, stopped.promise])
        if ('error' in result) throw result.error
        return result.done
      } finally {
        signal?.removeEventListener('abort', end)
        stopping.postMessage('end')
        stopping.close()
      }
    },
  }
}

const askLine =
  (ask: (question: Question) => Promise<Answer>) =>
  (line: string, atMostMs: number): Promise<Answer> =>
    ask({ line, atMostMs })

function whyNotStarted({ gone, complaint }: { gone: string; complaint: string }) {
  const reason = complaint.trim() || gone
  const isMissing = /bwrap: not found/.test(reason)
  return missing(isMissing ? 'bubblewrap is not installed' : 'its machine gives no sandbox to programs', reason)
}

const missing = (why: string, reason: unknown) => ({
  refusal: `This installation runs no Python graders: ${why}.`,
  reason: String(reason),
})

async function describe(python: string): Promise<Found> {
  const { stdout } = await run(python, ['-I', '-c', describing], { timeout: startMs })
  return JSON.parse(stdout) as Found
}

function packageLacking({ packages }: Found, imageTag: ImageTag): string | null {
  const lacking = Object.entries(graderImages[imageTag]).find(([name, version]) => packages[name] !== version)
  return lacking ? lacking.join(' ') : null
}
