import { useEffect, useRef } from 'react'
import { api } from '../api/client.ts'
import { currentSession, keepSession } from '../api/session.ts'

const keys = [
  ['j, k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['/', 'search'],
  ['g', 'to the jobs'],
  ['?', 'this help'],
] as const

/** The session ends in this browser even if the service cannot be told. */
async function signOut() {
  await api.DELETE('/v1/console/session').catch(() => undefined)
  keepSession(null)
}

export function Help({ keyId, close }: { keyId: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">Keys and account</h2>
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
    </dialog>
  )
}
