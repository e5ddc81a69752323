// Keys, webhooks, the audit trail and the account. All but the account need a key with the scope admin.
import { useMay, useSession } from '../api/session.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Empty } from '../ui/states.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { When } from '../ui/text.tsx'
import { Audit } from './audit.tsx'
import { Keys } from './keys.tsx'
import { Limits } from './limits.tsx'
import { Webhooks } from './webhooks.tsx'

const parts = ['keys', 'webhooks', 'audit', 'account'] as const

export function SettingsView() {
  usePageTitle('Settings')
  const isAdmin = useMay('admin')
  const [query, change] = useQueryOfAddress()
  const part = parts.find((each) => each === query.get('tab')) ?? (isAdmin ? 'keys' : 'account')
  const needsAdmin = part !== 'account' && !isAdmin
  return (
    <>
      <h1>Settings</h1>
      <Tabs label="Parts of the settings" value={part} values={parts} onChange={(tab) => change({ tab })} />
      <section aria-label={part}>
        {needsAdmin && (
          <Empty>
            <p>Keys, webhooks and the audit trail need a key with the scope “admin”.</p>
          </Empty>
        )}
        {isAdmin && part === 'keys' && <Keys />}
        {isAdmin && part === 'webhooks' && <Webhooks />}
        {isAdmin && part === 'audit' && <Audit />}
        {part === 'account' && <Account />}
      </section>
    </>
  )
}

function Account() {
  const session = useSession()
  return (
    <>
      <p>
        This session acts for the key <code>{session?.keyId}</code> until {session && <When at={session.expiresAt} />}.
        It ends with the key.
      </p>
      <Limits />
    </>
  )
}
