// Three ways in: the identity provider, an API key, which is sent once and not kept, or a link that `npm start` has printed.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { api } from '../api/client.ts'
import { currentSession, hasEnded, keepSession, loginAddress } from '../api/session.ts'
import type { components } from '../api/types.ts'
import { sessionOf, type Session, type SignedIn } from '../domain/session.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useLocation } from '../ui/router.tsx'
import { Failure } from '../ui/states.tsx'

const keep = (session: SignedIn) => keepSession(sessionOf(session))

export function SignIn() {
  usePageTitle('Sign in')
  const [key, setKey] = useState('')
  const signIn = useMutation({
    mutationFn: () => api.POST('/v1/console/session', { headers: { Authorization: `Bearer ${key.trim()}` } }),
    onSuccess: keep,
  })
  const provider = useQuery({ queryKey: ['sign-in'], retry: false, queryFn: () => api.GET('/v1/sign-in') }).data
    ?.provider
  const signsPeopleIn = provider?.client_id != null
  // Where the provider still knows the person, the page comes back by itself.
  const comesBack = signsPeopleIn && hasEnded()
  useEffect(() => {
    if (comesBack) location.replace(loginAddress())
  }, [comesBack])
  return (
    <main className="sign-in">
      <h1>Anneal</h1>
      {signsPeopleIn && (
        <>
          <a className="button primary" href={loginAddress()}>
            Sign in with {new URL(provider.issuer).host}
          </a>
          <p className="quiet">Or sign in with an API key:</p>
        </>
      )}
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

/** The link of the address. React may draw the page again after the link was taken out of the address. */
let kept = ''

function takeLink(): string {
  kept = location.hash.slice(1) || kept
  // The link has no further use, and should not stay in the address.
  history.replaceState(null, '', location.pathname)
  return kept
}

const isLive = (session: Session | null) => session !== null && new Date(session.expiresAt) > new Date()

/** A foreign page may lead here, with a link of its own account. So the page says what the link opens, and asks. */
export function OpenLink() {
  usePageTitle('Sign in')
  const [, navigate] = useLocation()
  const [link] = useState(takeLink)
  const [present] = useState(currentSession)
  const leave = useCallback(() => {
    kept = ''
    navigate('/', { replace: true })
  }, [navigate])
  useEffect(() => {
    if (link === '') leave()
  }, [link, leave])
  const shown = useQuery({
    queryKey: ['sign-in link', link],
    enabled: link !== '',
    staleTime: Infinity,
    retry: false,
    queryFn: () => api.POST('/v1/console/links/show', { body: { link } }),
  })
  const signIn = useMutation({
    mutationFn: () => api.POST('/v1/console/links/open', { body: { link } }),
    onSuccess: (session) => {
      keep(session)
      leave()
    },
  })
  const error = shown.error ?? signIn.error
  return (
    <main className="sign-in">
      <h1>Anneal</h1>
      {error ? (
        <>
          <Failure error={error} />
          <p>
            <Link href="/">{isLive(present) ? 'Stay signed in' : 'Sign in with an API key'}</Link>
          </p>
        </>
      ) : shown.data ? (
        <>
          <Opens link={shown.data} />
          {isLive(present) && (
            <p>
              This browser is signed in with the key <code>{present?.keyId}</code>. The link replaces that session, in
              every tab.
            </p>
          )}
          <div className="buttons">
            <button type="button" onClick={leave}>
              {isLive(present) ? 'Stay signed in' : 'Do not sign in'}
            </button>
            <button
              type="button"
              className="primary"
              autoFocus
              disabled={signIn.isPending}
              onClick={() => signIn.mutate()}
            >
              Sign in with the link
            </button>
          </div>
        </>
      ) : (
        <p role="status">Reading the link…</p>
      )}
    </main>
  )
}

const Opens = ({ link }: { link: components['schemas']['ConsoleLinkShown'] }) => (
  <p>
    The link signs this browser in to the account <strong>{link.account_name}</strong> with the key “{link.key_name}” (
    <code>{link.key_id}</code>), which may: {link.scopes.join(', ')}.
  </p>
)
