// The frame around every page: sign-in, navigation, and the line that says when the service is silent.
import { Suspense, useEffect, useRef, useState, type ReactNode } from 'react'
import { useSilence } from './api/connection.ts'
import { useSession } from './api/session.ts'
import { Header } from './header.tsx'
import { Help } from './ui/help.tsx'
import { useKeys } from './ui/keys.ts'
import { lazyView, loadOtherViews } from './ui/lazy-view.ts'
import { usePageTitle } from './ui/page-title.ts'
import { Link, useLocation } from './ui/router.tsx'
import { Empty, Loading } from './ui/states.tsx'
import { When } from './ui/text.tsx'
import { Toasts } from './ui/toast.tsx'
import { OpenLink, SignIn } from './views/sign-in.tsx'

const BatchView = lazyView(async () => (await import('./views/batch.tsx')).BatchView)
const BatchesView = lazyView(async () => (await import('./views/batches.tsx')).BatchesView)
const CompareView = lazyView(async () => (await import('./views/compare.tsx')).CompareView)
const DataView = lazyView(async () => (await import('./views/data.tsx')).DataView)
const DatasetView = lazyView(async () => (await import('./views/dataset.tsx')).DatasetView)
const EvaluationView = lazyView(async () => (await import('./views/evaluation.tsx')).EvaluationView)
const EvaluationsView = lazyView(async () => (await import('./views/evaluations.tsx')).EvaluationsView)
const JobView = lazyView(async () => (await import('./views/job.tsx')).JobView)
const JobsView = lazyView(async () => (await import('./views/jobs.tsx')).JobsView)
const ModelView = lazyView(async () => (await import('./views/model.tsx')).ModelView)
const ModelsView = lazyView(async () => (await import('./views/models.tsx')).ModelsView)
const NewJobView = lazyView(async () => (await import('./views/new-job.tsx')).NewJobView)
const PlaygroundView = lazyView(async () => (await import('./views/playground.tsx')).PlaygroundView)
const SettingsView = lazyView(async () => (await import('./views/settings.tsx')).SettingsView)
const UsageView = lazyView(async () => (await import('./views/usage.tsx')).UsageView)
const Palette = lazyView(async () => (await import('./views/palette.tsx')).Palette)
/** All components and their states, for those who work on them. A release has no such page. */
const ComponentsView = import.meta.env.DEV
  ? lazyView(async () => (await import('./views/components.tsx')).ComponentsView)
  : null

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
  if (ComponentsView && location === '/components')
    return (
      <Suspense>
        <ComponentsView />
      </Suspense>
    )
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
    case 'evaluations':
      return id === undefined ? <EvaluationsView /> : <EvaluationView key={id} id={decoded(id)} />
    case 'batches':
      return id === undefined ? <BatchesView /> : <BatchView key={id} id={decoded(id)} />
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

function NoPage() {
  usePageTitle('No page')
  return (
    <Empty>
      <h1>There is no such page</h1>
      <Link href="/jobs" className="button">
        To the jobs
      </Link>
    </Empty>
  )
}

function Frame({ keyId }: { keyId: string }) {
  const [location, navigate] = useLocation()
  const [showsHelp, setShowsHelp] = useState(false)
  const [isFinding, setFinding] = useState(false)
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
  useEffect(loadOtherViews, [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || document.querySelector('dialog[open]')) return
      event.preventDefault()
      setFinding(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  useEffect(() => {
    if (location === '/') navigate('/jobs', { replace: true })
  }, [location, navigate])
  return (
    <div className="frame">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to the content
      </a>
      <Header place={place} find={() => setFinding(true)} showHelp={() => setShowsHelp(true)} />
      <Silence />
      <main id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading what="the page" />}>{pageAt(location.split('/'))}</Suspense>
      </main>
      <Toasts />
      <Suspense>
        {isFinding && <Palette close={() => setFinding(false)} showHelp={() => setShowsHelp(true)} />}
      </Suspense>
      {showsHelp && <Help keyId={keyId} close={() => setShowsHelp(false)} />}
    </div>
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
