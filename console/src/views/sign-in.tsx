// Two ways in: an API key, which is sent once and not kept, or a link that `npm start` has printed.
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../api/client.ts'
import { keepSession } from '../api/session.ts'
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

export function OpenLink() {
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const link = location.hash.slice(1)
    // The link has no further use, and should not stay in the address.
    history.replaceState(null, '', location.pathname)
    if (link === '' && openings.size === 0) return navigate('/', { replace: true })
    const opening = link === '' ? [...openings.values()].at(-1) : open(link)
    opening?.then((session) => {
      keep(session)
      navigate('/', { replace: true })
    }, setError)
  }, [navigate])
  return (
    <main className="sign-in">
      <h1>Anneal</h1>
      {error === null ? (
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
