// Builds that are broken on purpose. Each lacks one mechanism on which a guarantee rests, and the simulation must notice.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

type Replacement = { file: string; find: string; replace: string }

/**
 * A build in which a text of a source file is replaced. The schedule of `seed` finds the bug. A bug of an in-memory
 * repository is also planted in the product's `statement`, where the conformance suite finds it.
 */
type Break = Replacement & { seed: number; statement?: Replacement }

const repositories = 'test/lab/simulation/in-memory-repositories'

export const breaks: Record<string, Break> = {
  'writes and claims are not fenced': {
    seed: 3,
    file: `${repositories}/attempts.ts`,
    find: "number === tx.get('trainingJob', jobId)?.currentAttempt && fencedAt === null && releasedAt === null",
    replace: 'true',
    statement: {
      file: 'src/repositories/attempts.ts',
      find: 'and a.number = j.current_attempt\n        and a.fenced_at is null and a.released_at is null and',
      replace: 'and',
    },
  },
  'a key makes a job each time': {
    seed: 1,
    file: `${repositories}/job-acceptance.ts`,
    find: 'if (old && !mayTakeOver(old, requestHash, tx.now)) return false',
    replace: '',
    statement: {
      file: 'src/repositories/job-acceptance.ts',
      find: 'where ${mayBeTakenOver}',
      replace: '',
    },
  },
  'an attempt is opened anew each time': {
    seed: 86,
    file: 'activities/attempts.ts',
    find: 'if (opened) return { attempt: opened.number }',
    replace: '',
  },
  'a relaunch is not counted': {
    seed: 1,
    file: 'activities/attempts.ts',
    find: 'if (counts) await tx.trainingJobs.countResume(jobId)',
    replace: '',
  },
  'an end overtakes an accepted cancel': {
    seed: 145,
    file: `${repositories}/training-jobs.ts`,
    find: "row.cancelRequestedAt !== null && to !== 'CANCELLED'",
    replace: 'false',
    statement: {
      file: 'src/repositories/training-jobs.ts',
      find: "...(to === 'CANCELLED' ? {} : { cancelRequestedAt: null }),",
      replace: '',
    },
  },
  'what cannot be asked has stalled': {
    seed: 12,
    file: 'activities/watch-attempt.ts',
    find: 'limitReached(deps, watched).catch(() => null)',
    replace: "limitReached(deps, watched).catch(() => 'stalled' as const)",
  },
  'a message is delivered before it is sent': {
    seed: 16,
    file: 'src/loops/outbox-relay.ts',
    find: 'await deliver(message)\n      await outbox.markDelivered(message.id)',
    replace: 'await outbox.markDelivered(message.id)\n      await deliver(message)',
  },
  'a copy is not hashed': {
    seed: 165,
    file: 'activities/publish.ts',
    find: 'if (files.length === 0 || !(await verifyFiles(storage, files))) return refuse(artifact)',
    replace: '',
  },
  'a cancel releases nothing': {
    seed: 3,
    file: 'activities/release.ts',
    find: 'for (const each of await database.attempts.listUnreleased(jobId, generation)) await release(deps, each)',
    replace: '',
  },
}

/** Names of the bugs that are planted in a statement of the product. */
export const brokenStatements = Object.keys(breaks).filter((name) => breaks[name]?.statement)

/** Call it before the changed file is imported. */
export function applyBreak(name: string) {
  plant(breaks[name] ?? unknownBreak(name))
}

/** Call it before the changed file is imported. */
export function breakStatement(name: string) {
  plant(breaks[name]?.statement ?? unknownBreak(name))
}

function unknownBreak(name: string): never {
  throw new Error(`There is no broken build "${name}". --help lists them.`)
}

function plant({ file, find, replace }: Replacement) {
  const url = new URL(`../../../${file}`, import.meta.url).href
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
  if (!text.includes(find))
    throw new Error(`The source no longer contains "${find}": update test/lab/simulation/breaks.ts.`)
  return text.replaceAll(find, replace)
}
