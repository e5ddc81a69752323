import { forgetAsked } from '../api/asked.ts'
import { api } from '../api/client.ts'
import { currentSession, keepSession } from '../api/session.ts'
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

/** The session ends in this browser even if the service cannot be told. */
async function signOut() {
  await api.DELETE('/v1/console/session', { signal: AbortSignal.timeout(tellMs) }).catch(() => undefined)
  forgetAsked()
  keepSession(null)
}

export function Help({ keyId, close }: { keyId: string; close: () => void }) {
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
        <div>
          <dt>Signed in with the key</dt>
          <dd>
            <code>{keyId}</code>, which may: {currentSession()?.scopes.join(', ')}
          </dd>
        </div>
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
