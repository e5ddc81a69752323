// The frame around every page: sign-in, navigation, and the line that says when the service is silent.
import { lazy, Suspense, useEffect, useRef, useState, type ReactNode } from 'react'
import { useSilence } from './api/connection.ts'
import { useSession } from './api/session.ts'
import { Help } from './ui/help.tsx'
import { useKeys } from './ui/keys.ts'
import { Link, useLocation } from './ui/router.tsx'
import { Empty, Loading } from './ui/states.tsx'
import { When } from './ui/text.tsx'
import { applyTheme, chosenTheme, nextTheme } from './ui/theme.ts'
import { DataView } from './views/data.tsx'
import { DatasetView } from './views/dataset.tsx'
import { JobsView } from './views/jobs.tsx'
import { ModelsView } from './views/models.tsx'
import { NewJobView } from './views/new-job.tsx'
import { PlaygroundView } from './views/playground.tsx'
import { SettingsView } from './views/settings.tsx'
import { OpenLink, SignIn } from './views/sign-in.tsx'
import { UsageView } from './views/usage.tsx'

// The pages that draw curves need a large library, and are loaded with it; so are those that share parts with them.
const JobView = lazy(async () => ({ default: (await import('./views/curves.ts')).JobView }))
const CompareView = lazy(async () => ({ default: (await import('./views/curves.ts')).CompareView }))
const ModelView = lazy(async () => ({ default: (await import('./views/curves.ts')).ModelView }))

const pages = [
  ['/jobs', 'Jobs'],
  ['/data', 'Data'],
  ['/models', 'Models'],
  ['/playground', 'Playground'],
  ['/usage', 'Usage'],
  ['/settings', 'Settings'],
] as const

const otherPages = [
  ['/new', 'New job'],
  ['/compare', 'Compare'],
] as const

export function App() {
  const session = useSession()
  const [location, navigate] = useLocation()
  const lastKeyId = useRef(session?.keyId)
  useEffect(() => {
    if (!session || location === '/open') return
    // The address names what belongs to the last key.
    if (lastKeyId.current !== undefined && lastKeyId.current !== session.keyId) navigate('/jobs', { replace: true })
    lastKeyId.current = session.keyId
  }, [session, location, navigate])
  if (location === '/open') return <OpenLink />
  // Nothing that a page remembers outlives its session.
  return session ? <Frame key={session.pageToken} keyId={session.keyId} /> : <SignIn />
}

/** Returns a part that cannot be decoded as it stands: a user may have typed the address. */
function decoded(part: string) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The page at an address. */
function pageAt([, place = '', id]: string[]): ReactNode {
  switch (place) {
    case '':
      return null
    case 'jobs':
      if (id === undefined) return <JobsView />
      return Number(id) > 0 ? <JobView key={id} id={Number(id)} /> : <NoPage />
    case 'new':
      return <NewJobView />
    case 'compare':
      return <CompareView />
    case 'data':
      return id === undefined ? <DataView /> : <DatasetView key={id} id={decoded(id)} />
    case 'models':
      return id === undefined ? <ModelsView /> : <ModelView key={id} name={decoded(id)} />
    case 'playground':
      return <PlaygroundView />
    case 'usage':
      return <UsageView />
    case 'settings':
      return <SettingsView />
    default:
      return <NoPage />
  }
}

const NoPage = () => (
  <Empty>
    <h1>There is no such page</h1>
    <Link href="/jobs">To the jobs</Link>
  </Empty>
)

function Frame({ keyId }: { keyId: string }) {
  const [location, navigate] = useLocation()
  const [showsHelp, setShowsHelp] = useState(false)
  const main = useRef<HTMLElement>(null)
  const place = location.split('/')[1] ?? ''
  useKeys({
    '?': () => setShowsHelp(true),
    g: () => navigate('/jobs'),
    // The list of jobs draws only the rows in sight, and has keys of its own.
    ...(location !== '/jobs' && { j: () => focusRow(1), k: () => focusRow(-1) }),
    '/': () => main.current?.querySelector<HTMLElement>('[type=search]')?.focus(),
  })
  const focusRow = (by: number) => {
    const rows = [...(main.current?.querySelectorAll('.list tbody tr, .answers > li') ?? [])]
    const places = rows.flatMap((row) => row.querySelector<HTMLElement>('a, button') ?? [])
    const now = places.findIndex((place) => place.closest('tr, li') === document.activeElement?.closest('tr, li'))
    places[Math.max(0, Math.min(places.length - 1, now + by))]?.focus()
  }
  useEffect(() => {
    if (location === '/') navigate('/jobs', { replace: true })
  }, [location, navigate])
  useEffect(() => {
    document.title = `${[...pages, ...otherPages].find(([path]) => path === `/${place}`)?.[1] ?? 'No page'} · Anneal`
  }, [place])
  return (
    <div className="frame">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to the content
      </a>
      <header className="top">
        <Link href="/jobs" className="brand">
          Anneal
        </Link>
        <nav aria-label="Pages">
          {pages.map(([path, name]) => (
            <Link key={path} href={path} aria-current={`/${place}` === path ? 'page' : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        <div className="tools">
          <ThemeButton />
          <button type="button" className="plain" aria-label="Keys and account" onClick={() => setShowsHelp(true)}>
            ?
          </button>
        </div>
      </header>
      <Silence />
      <main id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading what="the page" />}>{pageAt(location.split('/'))}</Suspense>
      </main>
      {showsHelp && <Help keyId={keyId} close={() => setShowsHelp(false)} />}
    </div>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <button
      type="button"
      className="plain"
      onClick={() => {
        const next = nextTheme(theme)
        applyTheme(next)
        setTheme(next)
      }}
    >
      Theme: {theme}
    </button>
  )
}

function Silence() {
  const since = useSilence()
  return (
    <div role="status" aria-live="polite">
      {since && (
        <p className="silence">
          The service has not answered since <When at={since} />. This page tries again by itself.
        </p>
      )}
    </div>
  )
}
