// The activities of a merged export. Each may run twice: the row tells which program merges, and whether it has committed.
import { cancellationSignal } from '@temporalio/activity'
import type { EndState } from '../src/compute/run.ts'
import type { TrainerCompute, TrainerSpec } from '../src/compute/trainers.ts'
import { isInterruption, policyOf, type AttemptCause } from '../src/domain/attempt-cause.ts'
import { folderOf } from '../src/domain/durable-work.ts'
import { gibibyte } from '../src/domain/catalogue.ts'
import { podToken, sha256 } from '../src/domain/identifiers.ts'
import { exportRunName, isOpenExport, type ModelExport } from '../src/domain/model-export.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { verifyFiles } from './artifact-files.ts'
import { causeOfFailure } from './attempt-cause.ts'
import { isInvalidSpec } from './compute-error.ts'
import { boundedTries } from './bounded-tries.ts'
import { withHeartbeat } from './heartbeat.ts'
import { refused } from './model-errors.ts'

export type ModelExportDependencies = {
  database: Pick<Database, 'modelExports' | 'transaction'>
  storage: Storage
  trainers: Pick<TrainerCompute, 'launch' | 'watch' | 'terminate'>
  settings: { secret: string; internalUrl: string; terminationGraceMs: number }
}

export type ModelExportActivities = ReturnType<typeof createModelExportActivities>

/** Programs of one export that may be interrupted or commit wrong bytes. */
const maxRuns = 5
/** A merge takes minutes; a program that takes longer than this hangs. */
const maxRunMs = 6 * 3_600_000

export function createModelExportActivities(deps: ModelExportDependencies) {
  const { database, storage, trainers, settings } = deps
  const { modelExports } = database

  return {
    /**
     * Starts the program that merges, or adopts it, and waits for its end. The first commit stays.
     * @throws ApplicationFailure Refused when no other program can do better
     */
    runMerge: ({ exportId }: { exportId: string }): Promise<'merged' | 'interrupted'> =>
      withHeartbeat(async () => {
        const begun = await openRun(exportId)
        if (!begun.runIsOpen) return 'merged'
        const end = await untilEnded(begun)
        await modelExports.closeRun({ id: exportId, number: begun.runNumber })
        const { committedAt, failure, runNumber } = await existing(exportId)
        if (committedAt) return 'merged'
        const cause = causeOf(end)
        const sentence = failure ?? sentenceOf(end, cause)
        if (!isInterruption(cause)) throw refused(sentence)
        if (runNumber >= maxRuns)
          throw refused(`The program that merges was interrupted ${runNumber} times: ${sentence}`)
        return 'interrupted'
      }),

    /** Copies the files to keys that no issued URL can write, and verifies the copies. @returns false when their bytes are wrong */
    keepMergedFiles: ({ exportId }: { exportId: string }): Promise<boolean> =>
      boundedTries({ id: `export-${exportId}`, what: 'Storing the merged files', type: 'Refused' }, async () => {
        const found = await existing(exportId)
        if (!isOpenExport(found.status)) return true
        const { accountId, runNumber } = found
        const kept = found.files.map((file) => ({
          ...file,
          key: storageKeys.exportFile(accountId, exportId, file.name),
        }))
        for (const { name, key } of kept)
          await storage.copy(storageKeys.exportUpload(accountId, exportId, runNumber, name), key)
        const isRight = await verifyFiles(storage, kept)
        if (isRight) await modelExports.complete(exportId)
        else if (runNumber >= maxRuns) throw refused('The merged files did not arrive as the program had sent them.')
        else await modelExports.forgetCommit({ id: exportId, number: runNumber })
        await removeUploads(found)
        return isRight
      }),

    /** Ends the program and the export, and removes what was uploaded. */
    failExport: ({ exportId, message }: { exportId: string; message: string }): Promise<void> =>
      withHeartbeat(async () => {
        const found = await modelExports.get(exportId)
        if (!found || !isOpenExport(found.status)) return
        if (found.runIsOpen) await terminate(found)
        await modelExports.fail(exportId, message)
        await storage.removeFolder(folderOf({ kind: 'export', id: exportId }, found.accountId))
      }),
  }

  /** @returns the export with its program; without an open one when a program has committed */
  function openRun(id: string): Promise<ModelExport> {
    return database.transaction(async (tx) => {
      const held = requireOpen(await tx.modelExports.hold(id))
      if (held.runIsOpen || held.committedAt) return held
      const number = held.runNumber + 1
      await tx.modelExports.openRun({ id, number }, sha256(tokenOf(id, number)))
      return requireOpen(await tx.modelExports.get(id))
    })
  }

  async function untilEnded(begun: ModelExport): Promise<EndState> {
    const spec = specOf(begun)
    const { uid } = await trainers.launch(spec).catch((error: unknown) => {
      throw isInvalidSpec(error) ? refused(error.message) : error
    })
    const tooLong = new AbortController()
    const timer = setTimeout(() => tooLong.abort(), maxRunMs)
    try {
      const signal = AbortSignal.any([cancellationSignal(), tooLong.signal])
      const seen = await trainers.watch({ name: spec.name, uid }, { signal }).catch((error: unknown) => {
        if (!tooLong.signal.aborted) throw error
        return null
      })
      const { end } = await terminate(begun)
      // A cluster may forget how the run ended before it is asked again.
      return seen ?? end
    } finally {
      clearTimeout(timer)
    }
  }

  /** The closed run refuses all further writes, so a lost node needs no fence of its own. */
  function terminate({ id, runNumber }: ModelExport) {
    return trainers.terminate(
      { name: exportRunName(id, runNumber) },
      { graceMs: settings.terminationGraceMs, fence: () => modelExports.closeRun({ id, number: runNumber }) },
    )
  }

  async function removeUploads({ accountId, id, runNumber }: ModelExport) {
    for (let run = 1; run <= runNumber; run++)
      await storage.removeFolder(storageKeys.exportUpload(accountId, id, run, ''))
  }

  async function existing(id: string) {
    return requireExisting(await modelExports.get(id))
  }

  function tokenOf(id: string, run: number) {
    return podToken(settings.secret, `export/${id}/${run}`)
  }

  function specOf({ id, accountId, runNumber, request }: ModelExport): TrainerSpec {
    const { name, resources } = request.baseModel
    return {
      name: exportRunName(id, runNumber),
      model: name,
      labels: { export: id, run: String(runNumber), account: accountId },
      env: { ANNEAL_INTERNAL_URL: settings.internalUrl, ANNEAL_TASK: 'merge' },
      secretEnv: { ANNEAL_TOKEN: tokenOf(id, runNumber) },
      resources: {
        cpuCount: resources.cpuCount,
        memoryBytes: resources.memoryGiB * gibibyte,
        // The merged files are as large as the model, which fits into its memory.
        diskBytes: (resources.diskGiB + resources.memoryGiB) * gibibyte,
        gpuCount: 0,
      },
      terminationGraceMs: settings.terminationGraceMs,
    }
  }
}

function causeOf(end: EndState): AttemptCause {
  // A program that finished without a commit, or that is gone, is started again.
  return end.state === 'failed' ? causeOfFailure(end) : 'lost'
}

function sentenceOf(end: EndState, cause: AttemptCause): string {
  if (cause === 'out_of_memory')
    return 'The program ran out of memory. The operator can give the base model more in the catalogue.'
  return (end.state === 'failed' && end.message) || policyOf(cause).sentence
}

/** A deleted account takes its exports along: the failure is final. */
function requireExisting(found: ModelExport | null): ModelExport {
  if (!found) throw refused('The export was deleted.')
  return found
}

function requireOpen(found: ModelExport | null): ModelExport {
  const existing = requireExisting(found)
  if (!isOpenExport(existing.status)) throw refused(`The export is ${existing.status}.`)
  return existing
}
