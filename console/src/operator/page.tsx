import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useSilence } from '../api/connection.ts'
import { ApiError } from '../api/errors.ts'
import { duration } from '../domain/format.ts'
import { Card } from '../ui/card.tsx'
import { Facts } from '../ui/facts.tsx'
import { Figures } from '../ui/figures.tsx'
import { Answer, Failure } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { Docs } from './docs.tsx'
import { FailedWork, Failures, Holders, Next } from './jobs.tsx'
import { MaintenanceSwitch } from './maintenance.tsx'
import { FindJob, OneJob, useAskedJob } from './one-job.tsx'
import { readOverview, type Overview } from './overview.ts'
import { ModelServers, Queues, Workers } from './tables.tsx'
import { Usage } from './usage.tsx'

const everyMs = 5000

const isRefusal = (error: unknown) => error instanceof ApiError && error.status === 401

export function OperatorPage() {
  const [token, setToken] = useState<string | null>(null)
  const silentSince = useSilence()
  const overview = useQuery<Overview>({
    queryKey: ['overview', token],
    enabled: token !== null,
    refetchInterval: ({ state }) => (isRefusal(state.error) ? false : everyMs),
    queryFn: ({ signal }) => readOverview(token ?? '', signal),
  })
  const isRefused = isRefusal(overview.error)
  if (token === null || isRefused) return <TokenForm use={setToken} error={isRefused ? overview.error : null} />
  return (
    <main>
      <h1>Operator</h1>
      {silentSince && (
        <p className="silence" role="status">
          The service has not answered since <When at={silentSince} />. This page tries again by itself.
        </p>
      )}
      <Answer query={overview} what="the overview">
        {(answer) => <Sections overview={answer} token={token} />}
      </Answer>
    </main>
  )
}

function TokenForm({ use, error }: { use: (token: string) => void; error: Error | null }) {
  const [text, setText] = useState('')
  return (
    <main className="sign-in">
      <h1>Anneal, for operators</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          use(text.trim())
        }}
      >
        <label htmlFor="token">Operator’s token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          autoFocus
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <p className="quiet">
          <code>operatorToken</code> in <code>.anneal/connection.json</code>, or made from <code>ANNEAL_SECRET</code>.
          It is not kept: a reload asks again.
        </p>
        <button type="submit" className="primary">
          Open
        </button>
        {error && <Failure error={error} />}
      </form>
    </main>
  )
}

/** The most jobs that the service names in a list. */
const mostListed = 100

function Sections({ overview, token }: { overview: Overview; token: string }) {
  const { attempts, outbox, slots, reaped, failures, failed_work: work, maintenance } = overview
  const asked = useAskedJob()
  const hits = reaped.reduce((sum, { count }) => sum + count, 0)
  const isCut = failures.length === mostListed || work.length === mostListed
  const failed = `${failures.length + work.length}${isCut ? ' or more' : ''}`
  return (
    <>
      {maintenance && <p className="notice warning">New work is stopped. {maintenance.message}</p>}
      <Figures
        figures={[
          ['Attempts that hold a slot', attempts.running],
          ['Slots', slots ?? 'as the cluster decides'],
          ['Attempts that wait', attempts.waiting],
          ['Failed today', failed],
          ['Releases not confirmed', ageOf(attempts.releases, attempts.release_age_seconds)],
        ]}
      />
      <div className="parts">
        <div className="cards-row">
          <Section title="Find a job" docs={<Docs page="operations" chapter="Read the Temporal UI" />}>
            <FindJob key={asked} asked={asked} />
          </Section>
          <Section title="Maintenance" docs={<Docs page="operations" chapter="Before a maintenance" />}>
            <MaintenanceSwitch maintenance={maintenance} token={token} />
          </Section>
        </div>
        {asked !== null && (
          <Card title={`Job ${asked}`} actions={<a href="#">Close</a>}>
            <OneJob key={asked} id={asked} token={token} />
          </Card>
        )}
        <Section title="Queue and slots" docs={<Docs page="architecture" chapter="Slots" />}>
          <h3>Who holds a slot</h3>
          <Holders jobs={overview.holders} />
          <h3>Who is next</h3>
          <Next jobs={overview.next} waiting={attempts.waiting} />
          <h3>By account</h3>
          <Queues queues={overview.queues} />
        </Section>
        <Section
          title="Failed today"
          docs={<Docs page="reliability" chapter="Why an attempt ended, and what follows" />}
        >
          <h3>Jobs</h3>
          <Failures jobs={failures} />
          <h3>Batches, evaluations and exports</h3>
          <FailedWork work={work} />
        </Section>
        <Section title="Usage" docs={<Docs page="access" chapter="Admin routes" />}>
          <Usage token={token} />
        </Section>
        <Section title="Workers" docs={<Docs page="operations" chapter="Alerts" />}>
          <Workers workers={overview.workers} />
        </Section>
        <Section title="Model servers" docs={<Docs page="internal-api" chapter="Model server" />}>
          <ModelServers servers={overview.model_servers} />
        </Section>
        <div className="cards-row">
          <Section title="Outbox" docs={<Docs page="operations" chapter="Alerts" />}>
            <p>
              {outbox.messages === 0
                ? 'Temporal has every message.'
                : `${ageOf(outbox.messages, outbox.age_seconds)} to deliver to Temporal.`}
            </p>
          </Section>
          <Section title="Webhooks" docs={<Docs page="webhooks" chapter="What a receiver can rely on" />}>
            <p>
              {overview.webhook_lag_seconds === 0
                ? 'No event is overdue.'
                : `The longest overdue event has waited ${duration(overview.webhook_lag_seconds)}.`}
            </p>
          </Section>
          <Section title="Reaper" docs={<Docs page="reliability" chapter="The reaper" />}>
            {hits === 0 ? (
              <p>The workers above have found nothing that outlived its workflow.</p>
            ) : (
              <Facts facts={reaped.map(({ what, count }) => [what.replaceAll('_', ' '), String(count)] as const)} />
            )}
          </Section>
        </div>
      </div>
    </>
  )
}

const ageOf = (count: number, seconds: number) =>
  count === 0 ? 'none' : `${count}, the oldest for ${duration(seconds)}`

function Section({ title, docs, children }: { title: string; docs: ReactNode; children: ReactNode }) {
  return (
    <Card title={title}>
      {children}
      <p className="quiet small">More: {docs}</p>
    </Card>
  )
}
