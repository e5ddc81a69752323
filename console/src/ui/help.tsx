import { forgetAsked } from '../api/asked.ts'
import { api } from '../api/client.ts'
import { currentSession, keepSession, loginAddress } from '../api/session.ts'
import type { Session } from '../domain/session.ts'
import { Dialog } from './dialog.tsx'

const keys = [
  ['Ctrl K', 'find a page, a job, a model, a data set or an action'],
  ['j, k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['/', 'search'],
  ['g', 'to the jobs'],
  ['?', 'this help'],
] as const

const tellMs = 2000

/** The session ends in this browser even if the service cannot be told. A person signs out of the provider as well. */
async function signOut() {
  const telling = api.DELETE('/v1/console/session', { signal: AbortSignal.timeout(tellMs) }).catch(() => undefined)
  // At once: a refusal would else be the end of a session, after which the page of sign-in leads back to the provider.
  forgetAsked()
  keepSession(null)
  const told = await telling
  if (told?.provider_url) location.assign(told.provider_url)
}

function Account({ person }: { person: NonNullable<Session['person']> }) {
  return (
    <>
      <div>
        <dt>Signed in as</dt>
        <dd>{person.name}</dd>
      </div>
      <div>
        <dt>Account</dt>
        <dd>
          {person.accounts.map(({ account, role }) => (
            <div key={account}>
              {account === person.account ? <strong>{account}</strong> : <a href={loginAddress(account)}>{account}</a>}{' '}
              as {role}
            </div>
          ))}
        </dd>
      </div>
    </>
  )
}

export function Help({ keyId, close }: { keyId: string; close: () => void }) {
  const session = currentSession()
  return (
    <Dialog title="Keys and account" close={close}>
      <dl className="facts">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
        {session?.person ? (
          <Account person={session.person} />
        ) : (
          <div>
            <dt>Signed in with the key</dt>
            <dd>
              <code>{keyId}</code>, which may: {session?.scopes.join(', ')}
            </dd>
          </div>
        )}
      </dl>
      <div className="buttons">
        <a href="/docs">API reference</a>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
        <button type="button" className="primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
