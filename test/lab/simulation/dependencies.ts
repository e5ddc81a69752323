// The dependencies of services and activities: the settings of the schedule, its database, store and compute.
import { readFileSync } from 'node:fs'
import type { TrainerCompute } from '../../../src/compute/trainers.ts'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import type { Database } from '../../../src/repositories/database.ts'
import type { Notifications } from '../../../src/repositories/notifications.ts'
import type { ServiceDependencies } from '../../../src/services/context.ts'
import type { Faults } from './faults.ts'
import type { Invariants } from './invariants.ts'
import { kernel } from './kernel.ts'
import { sha256Of, type ObjectStore } from './object-store.ts'
import { quiet, type WorkerDependencies } from './worker.ts'

const minute = 60_000
const catalogue = parseCatalogue(JSON.parse(readFileSync(new URL('../../../models.json', import.meta.url), 'utf8')))
const invalid = Object.assign(new Error('line 3: output: missing'), { name: 'DatasetInvalidError' })

type Parts = {
  database: Database
  notifications: Notifications
  store: ObjectStore
  trainers: TrainerCompute
  faults: Faults
  invariants: Invariants
  soundForMs: () => number
}

export function createDependencies({
  database,
  notifications,
  store,
  trainers,
  faults,
  invariants,
  soundForMs,
}: Parts) {
  const { pick } = kernel()
  const settings = {
    secret: 'a secret of at least thirty-two characters',
    internalUrl: 'http://internal',
    terminationGraceMs: 5000,
    attemptLimits: {
      timeSliceMs: pick([6000, 60 * minute]),
      stallMs: 3 * minute,
      maxJobMs: pick([null, null, 20_000]),
    },
    maxStoredBytes: 1e12,
    maxRowBytes: 1e10,
  }
  const datasets = {
    prepare: ({ jobId }: { jobId: number }) =>
      faults.through('store', 'store.prepare', () => {
        if (invariants.hasBadData(jobId)) throw invalid
        const file = { key: `jobs/${jobId}/data/rows`, sizeBytes: 4, sha256: sha256Of('rows'), rowCount: 1 }
        store.objects.set(file.key, 'rows')
        return {
          reports: [{ badRowGroups: [], badRowCount: 0, rowCount: 1, unreadFields: [] }],
          prepared: { train: file, evaluation: { ...file, split: 'train' } },
        } as never
      }),
  }
  const shared = { database, notifications, storage: store.storage }
  const activities: WorkerDependencies = {
    ...{ ...shared, trainers, settings, datasets },
    health: { soundForMs },
  }
  // The simulated services use only these; any other member is undefined and fails the schedule.
  const services = {
    ...{ ...shared, catalogue, log: quiet },
    settings: { ...settings, resumeLimit: pick([2, 4, 10]), maxGpus: 1, maxNodes: 1, maxOpenJobs: 1000 },
  } as unknown as ServiceDependencies
  return { activities, services }
}
