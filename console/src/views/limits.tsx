import { useQuery } from '@tanstack/react-query'
import { limitsQuery } from '../api/account.ts'
import { bytes, count } from '../domain/format.ts'
import { Answer } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'

const saidOf = {
  refuses: 'requests for more are refused',
  waits: 'what is more waits',
  drops_oldest: 'the oldest goes',
}
const shownBy = (name: string) => (name.endsWith('bytes') ? bytes : count)

/** The quotas of the account with what is left of each, and what a key may send. */
export function Limits() {
  const limits = useQuery(limitsQuery)
  return (
    <>
      <h2>Limits</h2>
      <Answer query={limits} what="the limits">
        {({ limits: all, requests }) => (
          <>
            <Table
              label="Limits"
              isDense
              isShort
              rows={all}
              keyOf={({ name }) => name}
              columns={[
                { name: 'Limit', isHead: true, cell: ({ title }) => title },
                {
                  name: 'Used',
                  className: 'number',
                  cell: ({ name, title, used, limit }) => (
                    <>
                      {shownBy(name)(used)} <span className="quiet">of {shownBy(name)(limit)}</span>{' '}
                      <meter max={limit} value={used} aria-label={title} />
                    </>
                  ),
                },
                { name: 'Left', className: 'number medium', cell: ({ name, left }) => shownBy(name)(left) },
                {
                  name: 'When it is full',
                  className: 'wide',
                  cell: ({ when_full: whenFull }) => saidOf[whenFull],
                },
              ]}
            />
            <p className="quiet">
              Each key may send {count(requests.per_second)} requests a second, {count(requests.burst)} at once after a
              pause, and have {count(requests.running)} running.
            </p>
          </>
        )}
      </Answer>
    </>
  )
}
