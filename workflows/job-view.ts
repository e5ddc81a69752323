// Shows a job in the Temporal UI by search attributes and current details. Never shows a prompt or a row.
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
      // Each upsert adds an event to the history, so only changes are written.
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
