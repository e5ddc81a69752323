import { duration, short } from '../domain/format.ts'
import { When } from '../ui/text.tsx'
import type { Overview } from './overview.ts'
import { Table } from './table.tsx'

export const Queues = ({ queues }: { queues: Overview['queues'] }) => (
  <Table
    head={['Account', 'Priority', 'Wait', 'Run', 'The oldest waits']}
    empty="No account has an attempt."
    rows={queues.map(({ account_id: id, name, priority, waiting, running, waiting_seconds: seconds }) => [
      <span title={id}>{name}</span>,
      priority,
      waiting,
      running,
      waiting === 0 ? '–' : duration(seconds),
    ])}
  />
)

export const Workers = ({ workers }: { workers: Overview['workers'] }) => (
  <Table
    head={['Worker', 'State', 'Activities', 'Since', 'Last report']}
    empty="No worker has reported within a day: nothing is started."
    rows={workers.map(({ host, pid, reporting, polling, activities, started_at: started, seen_at: seen }) => [
      `${host}, process ${pid}`,
      reporting ? (polling ? 'takes work' : 'starts or stops') : 'is silent',
      activities,
      <When at={started} />,
      <When at={seen} as="age" />,
    ])}
  />
)

export const ModelServers = ({ servers }: { servers: Overview['model_servers'] }) => (
  <Table
    head={['Base model', 'State', 'Last used', 'Replicas and the adapters that they hold']}
    empty="No model was asked yet."
    rows={servers.map(({ base_model: base, state, message, last_used_at: used, replicas }) => [
      base,
      message === null ? state : `${state}: ${message}`,
      <When at={used} as="age" />,
      <ul>
        {replicas.map(({ instance, reporting, adapters }) => (
          <li key={instance}>
            {instance}
            {reporting ? '' : ', silent'}:{' '}
            {adapters === null ? 'does not answer' : adapters.length === 0 ? 'none' : adapters.map(short).join(', ')}
          </li>
        ))}
      </ul>,
    ])}
  />
)
