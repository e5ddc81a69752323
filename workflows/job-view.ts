// Shows a job in the Temporal UI by search attributes, current details and queries. Never shows a prompt or a row.
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow'
import { searchAttributes, type FineTuneProgress, type ShownStatus } from './contract.ts'

const keptChanges = 50

export type JobView = ReturnType<typeof createJobView>

export function createJobView(initial: Pick<ShownStatus, 'status' | 'attempt'>) {
  let last = ''
  let current: ShownStatus = { ...initial, reason: null, message: null }
  const since: FineTuneProgress['since'] = []
  return {
    current: () => current,
    since: () => since,
    show(newest: ShownStatus) {
      const { status, attempt, reason, message } = newest
      current = newest
      if (since.at(-1)?.status !== status) since.push({ status, at: new Date().toISOString() })
      if (since.length > keptChanges) since.shift()
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
