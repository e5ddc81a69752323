// Deliberately broken builds: each lacks one thing that a guarantee rests on, and the suite must notice.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/** What the doubles of such a build lack. */
export const broken = { fence: false, idempotencyKey: false }

type Change =
  /** A line of a source file. */
  | { file: string; find: string; replace: string }
  /** A condition of a statement, in its double. */
  | { statement: keyof typeof broken }

/** `seed` is of a schedule that notices it. */
type Break = Change & { seed: number }

export const breaks: Record<string, Break> = {
  'writes and claims are not fenced': { seed: 70, statement: 'fence' },
  'a key makes a job each time': { seed: 3, statement: 'idempotencyKey' },
  'an attempt is opened anew each time': {
    seed: 18,
    file: 'activities/attempts.ts',
    find: 'if (opened) return { attempt: opened.number }',
    replace: '',
  },
  'a relaunch is not counted': {
    seed: 11,
    file: 'activities/attempts.ts',
    find: 'if (counts) await tx.trainingJobs.countResume(jobId)',
    replace: '',
  },
  'an end overtakes an accepted cancel': {
    seed: 731,
    file: 'src/repositories/training-jobs.ts',
    find: "...(to === 'CANCELLED' ? {} : { cancelRequestedAt: null }),",
    replace: '',
  },
  'what cannot be asked has stalled': {
    seed: 4,
    file: 'activities/watch-attempt.ts',
    find: 'lookAt(deps, attempt).catch(() => null)',
    replace: "lookAt(deps, attempt).catch(() => 'stalled' as const)",
  },
  'a message is delivered before it is sent': {
    seed: 42,
    file: 'src/loops/outbox-relay.ts',
    find: 'await deliver(message)\n      await outbox.markDelivered(message.id)',
    replace: 'await outbox.markDelivered(message.id)\n      await deliver(message)',
  },
  'a copy is not hashed': {
    seed: 183,
    file: 'activities/publish.ts',
    find: 'if (files.length === 0 || !(await verifyFiles(storage, files))) return refuse(artifact)',
    replace: '',
  },
  'a cancel releases nothing': {
    seed: 2,
    file: 'activities/release.ts',
    find: 'for (const each of await database.attempts.listUnreleased(jobId, generation)) await release(deps, each)',
    replace: '',
  },
}

/** Before what it changes is loaded. */
export function applyBreak(name: string) {
  const wanted = breaks[name]
  if (!wanted) throw new Error(`there is no broken build "${name}"`)
  if ('statement' in wanted) broken[wanted.statement] = true
  else breakFile(wanted)
}

function breakFile({ file, find, replace }: Extract<Break, { file: string }>) {
  const url = new URL(`../../${file}`, import.meta.url).href
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url
        ? {
            format: 'module-typescript',
            shortCircuit: true,
            source: replaceIn(readFileSync(fileURLToPath(url), 'utf8'), find, replace),
          }
        : next(loaded, context),
  })
}

function replaceIn(text: string, find: string, replace: string): string {
  if (!text.includes(find)) throw new Error(`there is no "${find}" to break`)
  return text.replaceAll(find, replace)
}
