import { useQuery } from '@tanstack/react-query'
import { limitsQuery } from '../api/account.ts'
import { bytes, count } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { Answer } from '../ui/states.tsx'

/** The quotas of the account with what is left of each, and what a key may send. */
export function Limits() {
  const limits = useQuery(limitsQuery)
  return (
    <>
      <h2 id="limits">Limits</h2>
      <Answer query={limits} what="the limits">
        {({ limits: all, requests }) => (
          <>
            <table className="list" aria-labelledby="limits">
              <Head
                columns={['', ['Used', 'number'], ['Limit', 'number'], ['Left', 'number'], ['When it is full', 'wide']]}
              />
              <tbody>
                {all.map(({ name, title, limit, used, left, when_full: whenFull }) => {
                  const shown = name.endsWith('bytes') ? bytes : count
                  return (
                    <tr key={name}>
                      <th scope="row">{title}</th>
                      <td className="number">
                        {shown(used)} <meter className="medium" max={limit} value={used} aria-label={title} />
                      </td>
                      <td className="number">{shown(limit)}</td>
                      <td className="number">{shown(left)}</td>
                      <td className="wide">
                        {whenFull === 'refuses' ? 'requests for more are refused' : 'the oldest goes'}
                      </td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
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
