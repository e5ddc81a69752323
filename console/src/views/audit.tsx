// Who has changed what, and from where. The filters are in the address.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { auditQuery, keysQuery } from '../api/account.ts'
import { auditGroups, chosenEvents, groupedEvents, type AuditGroup } from '../domain/audit.ts'
import { count, short } from '../domain/format.ts'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { When } from '../ui/text.tsx'

const pageSize = 50
const most = 1000

export function Audit() {
  const [limit, setLimit] = useState(pageSize)
  const [query, change] = useQueryOfAddress()
  const trail = useQuery(auditQuery(limit))
  const { data: keys = [] } = useQuery(keysQuery)
  const names = new Map(keys.map((key) => [key.id, key.name]))
  const [text, action] = [query.get('q') ?? '', query.get('action') ?? '']
  const group = auditGroups.find((each) => each === query.get('group')) ?? 'none'
  return (
    <Answer query={trail} what="the audit trail">
      {({ events, next }) => {
        const named = events.map((event) => ({ ...event, keyName: names.get(event.key_id ?? '') }))
        const chosen = chosenEvents(named, { text, action })
        return (
          <>
            <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
              <Labelled name="Search">
                <input
                  type="search"
                  value={text}
                  placeholder="object, key, address"
                  onChange={({ target }) => change({ q: target.value })}
                />
              </Labelled>
              <Choice
                label="Action"
                value={action}
                values={['', ...new Set([...(action === '' ? [] : [action]), ...events.map((each) => each.action)])]}
                textOf={(each) => each || 'all'}
                onChange={(each) => change({ action: each })}
              />
              <Choice
                label="Group by"
                value={group}
                values={auditGroups}
                onChange={(each) => change({ group: each === 'none' ? '' : each })}
              />
              <p className="quiet" role="status">
                {count(chosen.length)} of the newest {count(events.length)}
              </p>
            </form>
            {chosen.length === 0 && (
              <Empty>
                <p>No event fits these filters.</p>
              </Empty>
            )}
            {groupedEvents(chosen, group).map(([name, each]) => (
              <Group key={name} name={name} group={group} events={each} />
            ))}
            {next && limit < most && (
              <button type="button" disabled={trail.isFetching} onClick={() => setLimit(Math.min(most, limit * 4))}>
                Show older events
              </button>
            )}
          </>
        )
      }}
    </Answer>
  )
}

type Event = Parameters<typeof chosenEvents>[0][number] & { id: string }

function Group({ name, group, events }: { name: string; group: AuditGroup; events: Event[] }) {
  const title = group === 'key' ? (events[0]?.keyName ?? name) : name
  return (
    <>
      {group !== 'none' && (
        <h2>
          {title} · {count(events.length)}
        </h2>
      )}
      <Table
        label={group === 'none' ? 'Audit trail' : title}
        isDense
        rows={events}
        keyOf={({ id }) => id}
        columns={[
          { name: 'When', cell: ({ at }) => <When at={at} /> },
          { name: 'Action', cell: ({ action }) => action },
          {
            name: 'On',
            className: 'text',
            cell: ({ target }) => target && <span title={target}>{short(target)}</span>,
          },
          {
            name: 'Key',
            className: 'medium',
            cell: ({ key_id: key, keyName }) => key && <span title={key}>{keyName ?? key}</span>,
          },
          { name: 'Address', className: 'wide', cell: ({ address }) => address },
        ]}
      />
    </>
  )
}
