// Keys, limits, webhooks and the audit trail. All but the limits need a key with the scope admin.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { auditQuery } from '../api/account.ts'
import { useMay, useSession } from '../api/session.ts'
import { Head } from '../ui/head.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Answer, Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { Keys } from './keys.tsx'
import { Limits } from './limits.tsx'
import { Webhooks } from './webhooks.tsx'

export function SettingsView() {
  usePageTitle('Settings')
  const isAdmin = useMay('admin')
  const session = useSession()
  return (
    <>
      <h1>Settings</h1>
      <h2>Keys</h2>
      <p>
        This session acts for the key <code>{session?.keyId}</code> until {session && <When at={session.expiresAt} />}.
        It ends with the key.
      </p>
      {isAdmin ? (
        <>
          <Keys />
          <Limits />
          <Webhooks />
          <Audit />
        </>
      ) : (
        <>
          <Empty>Keys, webhooks and the audit trail need a key with the scope “admin”.</Empty>
          <Limits />
        </>
      )}
    </>
  )
}

const pageSize = 50
const most = 1000

function Audit() {
  const [limit, setLimit] = useState(pageSize)
  const trail = useQuery(auditQuery(limit))
  return (
    <>
      <h2>Audit trail</h2>
      <Answer query={trail} what="the audit trail">
        {({ events }) => (
          <table className="list">
            <Head columns={['When', 'Action', 'On', ['Key', 'medium'], ['Address', 'wide']]} />
            <tbody>
              {events.map(({ id, at, action, target, key_id: key, address }) => (
                <tr key={id}>
                  <td>
                    <When at={at} />
                  </td>
                  <td>{action}</td>
                  <td className="text">{target}</td>
                  <td className="medium">
                    <code>{key}</code>
                  </td>
                  <td className="wide">{address}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Answer>
      {trail.data?.next && limit < most && (
        <button type="button" disabled={trail.isFetching} onClick={() => setLimit(Math.min(most, limit * 4))}>
          Show older ones
        </button>
      )}
    </>
  )
}
