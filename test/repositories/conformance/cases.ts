// What the repositories of jobs promise. The real ones on Postgres and those in memory, on which the simulation runs, are
// held to the same cases.
import { acceptanceCases } from './acceptance.ts'
import { attemptCases } from './attempts.ts'
import type { Cases } from './subject.ts'
import { trainingJobCases } from './training-jobs.ts'
import { transactionCases } from './transactions.ts'

export const cases: Cases = { ...acceptanceCases, ...trainingJobCases, ...attemptCases, ...transactionCases }
