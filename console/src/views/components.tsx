// Every component in each of its states, for those who work on the pages. Only `npm run dev` serves it.
import { useState, type ReactNode } from 'react'
import { Card } from '../ui/card.tsx'
import { Chip } from '../ui/chip.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Facts } from '../ui/facts.tsx'
import { Figures } from '../ui/figures.tsx'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { Empty, Failure, Skeleton } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Code, Progress, Status, When } from '../ui/text.tsx'
import { toast, Toasts } from '../ui/toast.tsx'

const tones = ['waits', 'runs', 'done', 'partly', 'failed', 'ended'] as const
const statuses = ['QUEUED', 'TRAINING MODEL', 'SAVING MODEL', 'COMPLETED', 'PARTIALLY COMPLETED', 'FAILED', 'CANCELLED']
const colours = ['ground', 'raised', 'sunken', 'line', 'accent', 'accent-soft', 'danger', 'done', 'partly', 'marked']
const rows = [
  { id: 1, name: 'products-bot', status: 'COMPLETED', steps: 120 },
  { id: 2, name: 'a-name-that-is-longer-than-its-column-has-room-for', status: 'TRAINING MODEL', steps: 1500 },
  { id: 3, name: 'tickets', status: 'FAILED', steps: 0 },
]
const parts = ['keys', 'webhooks', 'audit trail'] as const

export function ComponentsView() {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <main>
        <h1>Components</h1>
        <Part name="Text">
          <h1>Title, 24 pixels, strong</h1>
          <h2>Heading, 16 pixels, strong</h2>
          <p>
            Body, 14 pixels: a <a href="#link">link</a>, <code>code</code>, <kbd>Ctrl K</kbd>, <mark>a mark</mark>,{' '}
            <strong>strong</strong>, <span className="quiet">quiet</span>, <span className="failure">a failure</span>.
          </p>
          <p className="quiet small">Small, 12 pixels</p>
        </Part>
        <Part name="Colours">
          <div className="cards-row">
            {colours.map((name) => (
              <div key={name} className="card" style={{ background: `var(--${name})` }}>
                <span className="chip">{name}</span>
              </div>
            ))}
          </div>
        </Part>
        <Part name="Buttons by weight">
          {[false, true].map((isDisabled) => (
            <p key={String(isDisabled)} className="buttons">
              {['primary', '', 'plain', 'danger', 'small'].map((weight) => (
                <button key={weight} type="button" className={weight} disabled={isDisabled}>
                  {weight || 'secondary'}
                </button>
              ))}
            </p>
          ))}
          <p className="buttons">
            <button type="button" onClick={() => setAsking(true)}>
              Ask first
            </button>
            <button
              type="button"
              onClick={() => toast('Created the key “laptop”', { href: '/settings', text: 'Open' })}
            >
              Show a toast
            </button>
          </p>
        </Part>
        <Part name="Fields">
          <Fields />
        </Part>
        <Part name="Chips, states, progress">
          <p className="chips">
            {tones.map((tone) => (
              <Chip key={tone} tone={tone}>
                {tone}
              </Chip>
            ))}
          </p>
          <p className="buttons">
            {statuses.map((status) => (
              <Status key={status} status={status} />
            ))}
          </p>
          <Progress share={0.42} label="42 %" /> <Progress share={null} label="a share that is not known" />
        </Part>
        <Part name="Numbers">
          <Figures
            figures={[
              ['Loss', '0.5141'],
              ['Steps', '120'],
              ['Submitted', <When at={new Date()} as="age" />],
            ]}
          />
          <Facts
            facts={[
              ['Base', 'smollm2'],
              ['Data set', 'products, version 2'],
            ]}
          />
        </Part>
        <Part name="Tables">
          <Rows />
        </Part>
        <Part name="Cards">
          <div className="cards-row">
            {rows.map(({ id, name }) => (
              <Card key={id} title={name} actions={<Chip tone="runs">production</Chip>}>
                A card of a thing with its name, its actions and its facts.
              </Card>
            ))}
          </div>
        </Part>
        <Part name="Places without content">
          <Empty>
            <h2>No job yet</h2>
            <p>A job fine-tunes a model on your rows. The first one appears here when it is created.</p>
            <button type="button" className="primary">
              New job
            </button>
          </Empty>
          <Skeleton />
          <Failure error={new Error('The service answered 503. Try again in a moment.')} retry={() => undefined} />
          <p className="notice">A notice.</p>
          <p className="notice warning">A warning says what may be wrong.</p>
          <p className="notice failure">A failure says what is wrong, where, and what to do next.</p>
        </Part>
        <Code text={'curl -X POST https://anneal.example/v1/train'} />
      </main>
      <Toasts />
      {isAsking && (
        <Confirm
          title="Delete products-bot?"
          action="Delete"
          isDangerous
          act={() => Promise.resolve()}
          done="Deleted products-bot"
          close={() => setAsking(false)}
        >
          <p>Requests for it get 404 from the next one on.</p>
        </Confirm>
      )}
    </>
  )
}

const Part = ({ name, children }: { name: string; children: ReactNode }) => (
  <section aria-label={name}>
    <h2>{name}</h2>
    {children}
  </section>
)

function Fields() {
  const [choice, setChoice] = useState<(typeof parts)[number]>('keys')
  return (
    <>
      <div className="filters">
        <Labelled name="Text">
          <input placeholder="a hint" />
        </Labelled>
        <Choice label="Choice" value={choice} values={parts} onChange={setChoice} />
        <label className="inline">
          <input type="checkbox" defaultChecked /> Checkbox
        </label>
      </div>
      <Tabs label="Parts" value={choice} values={parts} onChange={setChoice} />
    </>
  )
}

function Rows() {
  const [shown, setShown] = useState(rows)
  return (
    <>
      {[false, true].map((isDense) => (
        <Table
          key={String(isDense)}
          label={isDense ? 'dense' : 'usual'}
          isDense={isDense}
          rows={shown}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Name', isHead: true, className: 'text', cell: ({ name }) => name },
            { name: 'Status', cell: ({ status }) => <Status status={status} /> },
            { name: 'Steps', className: 'number', cell: ({ steps }) => steps },
            {
              name: '',
              cell: ({ id }) => (
                <div className="buttons">
                  <button type="button" onClick={() => setShown(shown.filter((row) => row.id !== id))}>
                    Remove
                  </button>
                </div>
              ),
            },
          ]}
        />
      ))}
      <button type="button" className="small" onClick={() => setShown(rows)}>
        Show all rows
      </button>
    </>
  )
}
