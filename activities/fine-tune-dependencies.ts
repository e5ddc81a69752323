import type { TrainerCompute } from '../src/compute/trainers.ts'
import type { DatasetValidator } from '../src/datasets/dataset-validator.ts'
import type { AttemptLimits } from '../src/domain/attempt-limits.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'

export type FineTuneDependencies = {
  database: Database
  storage: Storage
  trainers: TrainerCompute
  datasets: Pick<DatasetValidator, 'prepare'>
  /** How long the internal API, the database and the object store have answered. */
  health: { soundForMs(): number }
  settings: {
    /** Signs the tokens of attempts. */
    secret: string
    /** Where pods find the internal API. */
    internalUrl: string
    terminationGraceMs: number
    attemptLimits: AttemptLimits
    /** The most bytes that an account may store. */
    maxStoredBytes: number
  }
}
