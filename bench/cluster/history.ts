// Time of a job's activities, from its Temporal history.
import { Client, Connection } from '@temporalio/client'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import { connection } from '../../test/support/stack.ts'
import { median } from '../stack.ts'
import { ms } from './table.ts'

type Event = Awaited<ReturnType<typeof historyOf>>[number]

async function historyOf(client: Client, jobId: number) {
  return (await client.workflow.getHandle(fineTuneWorkflowId(jobId)).fetchHistory()).events ?? []
}

/** Medians over these jobs of each activity's time from its schedule to its result. */
export async function sayActivities(what: string, jobIds: number[], names: string[]) {
  const times = new Map(names.map((name) => [name, [] as number[]]))
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const client = new Client({ connection: temporal })
  for (const id of jobIds) {
    const events = await historyOf(client, id)
    const scheduled = new Map(events.map((event) => [Number(event.eventId), event]))
    for (const event of events) {
      const start = scheduled.get(Number(event.activityTaskCompletedEventAttributes?.scheduledEventId))
      const name = start?.activityTaskScheduledEventAttributes?.activityType?.name ?? ''
      if (start) times.get(name)?.push(timeOf(event) - timeOf(start))
    }
  }
  await temporal.close()
  const parts = [...times].map(([name, of]) => `${name} ${ms(median(of))}`)
  console.log(`${what}, activities by Temporal's history: ${parts.join(', ')}`)
}

const timeOf = ({ eventTime }: Event) => Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6
