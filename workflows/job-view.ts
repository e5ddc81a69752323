// What the Temporal UI shows of a job: search attributes and the current details. Never a prompt or a row.
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow'
import type { TrainingJobStatus } from '../src/domain/training-job-status.ts'
import { searchAttributes } from './contract.ts'

type Shown = { status: TrainingJobStatus; attempt: number; reason: string | null; message: string | null }
export type JobView = ReturnType<typeof createJobView>

export function createJobView() {
  let last = ''
  return {
    show({ status, attempt, reason, message }: Shown) {
      setCurrentDetails(
        [`**${status}**`, attempt > 0 ? `attempt ${attempt}` : '', message ?? '']
          .filter((part) => part !== '')
          .join(' · '),
      )
      // Each upsert is an event of the history: only when something has changed.
      const shown = JSON.stringify([status, attempt, reason])
      if (shown === last) return
      last = shown
      upsertSearchAttributes([
        { key: searchAttributes.status, value: status },
        { key: searchAttributes.attempt, value: attempt },
        { key: searchAttributes.reason, value: reason },
      ])
    },
  }
}
