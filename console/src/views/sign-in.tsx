// Two ways in: an API key, which is sent once and not kept, or a link that `npm start` has printed.
import { useMutation } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { api } from '../api/client.ts'
import { currentSession, keepSession, type Session } from '../api/session.ts'
import { Link, useLocation } from '../ui/router.tsx'
import { Failure } from '../ui/states.tsx'

type SignedIn = { page_token: string; key_id: string; scopes: string[]; expires_at: string }

const keep = ({ page_token: pageToken, key_id: keyId, scopes, expires_at: expiresAt }: SignedIn) =>
  keepSession({ pageToken, keyId, scopes, expiresAt })

export function SignIn() {
  const [key, setKey] = useState('')
  const signIn = useMutation({
    mutationFn: () => api.POST('/v1/console/session', { headers: { Authorization: `Bearer ${key.trim()}` } }),
    onSuccess: keep,
  })
  return (
    <main className="sign-in">
      <h1>Anneal</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate()
        }}
      >
        <label htmlFor="key">API key</label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          autoFocus
          required
          spellCheck={false}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <p className="quiet">
          The key is sent once and not kept in this browser. On your own machine, the link that <code>npm start</code>{' '}
          prints signs you in without it.
        </p>
        <button type="submit" className="primary" disabled={signIn.isPending}>
          Sign in
        </button>
        {signIn.error && <Failure error={signIn.error} />}
      </form>
    </main>
  )
}

/** One request for each link, however often the page is drawn. */
const openings = new Map<string, Promise<SignedIn>>()

function open(link: string): Promise<SignedIn> {
  const opening = openings.get(link) ?? api.POST('/v1/console/links/open', { body: { link } })
  openings.set(link, opening)
  return opening as Promise<SignedIn>
}

/** The link of the address. React may draw the page again after the link was taken out of the address. */
let kept = ''

function takeLink(): string {
  kept = location.hash.slice(1) || kept
  // The link has no further use, and should not stay in the address.
  history.replaceState(null, '', location.pathname)
  return kept
}

const isLive = (session: Session | null) => session !== null && new Date(session.expiresAt) > new Date()

/** A foreign page may lead here, so a live session is not replaced without a question. */
export function OpenLink() {
  const [, navigate] = useLocation()
  const [link] = useState(takeLink)
  const [present] = useState(currentSession)
  const [mayOpen, setMayOpen] = useState(!isLive(present))
  const [error, setError] = useState<unknown>(null)
  const leave = useCallback(() => {
    kept = ''
    navigate('/', { replace: true })
  }, [navigate])
  useEffect(() => {
    if (link === '') return leave()
    if (!mayOpen) return
    open(link).then((session) => {
      keep(session)
      leave()
    }, setError)
  }, [link, mayOpen, leave])
  return (
    <main className="sign-in">
      <h1>Anneal</h1>
      {!mayOpen ? (
        <>
          <p>
            This browser is signed in with the key <code>{present?.keyId}</code>. The link would sign in with its own
            key, in every tab.
          </p>
          <div className="buttons">
            <button type="button" onClick={leave}>
              Stay signed in
            </button>
            <button type="button" className="primary" onClick={() => setMayOpen(true)}>
              Sign in with the link
            </button>
          </div>
        </>
      ) : error === null ? (
        <p role="status">Signing in…</p>
      ) : (
        <>
          <Failure error={error} />
          <p>
            <Link href="/">Sign in with an API key</Link>
          </p>
        </>
      )}
    </main>
  )
}
