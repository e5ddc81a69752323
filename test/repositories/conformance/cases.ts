// The promises of the job repositories. The real ones on Postgres and the in-memory ones of the simulation pass the same
// cases.
import { acceptanceCases } from './acceptance.ts'
import { attemptCases } from './attempts.ts'
import type { Cases } from './subject.ts'
import { trainingJobCases } from './training-jobs.ts'
import { transactionCases } from './transactions.ts'
import { labelCases } from './labels.ts'

export const cases: Cases = {
  ...acceptanceCases,
  ...trainingJobCases,
  ...attemptCases,
  ...transactionCases,
  ...labelCases,
}
