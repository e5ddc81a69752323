// Ctrl-K: a page, a job, a model, a data set, or an action of the present page.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { datasetsQuery } from '../api/data.ts'
import { namedJobsQuery, useJobs } from '../api/job-list.ts'
import { modelsQuery } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { short } from '../domain/format.ts'
import { found, type Found } from '../domain/palette.ts'
import { useLocation } from '../ui/router.tsx'

type Item = Found & { act: () => void }

export function Palette({ close, showHelp }: { close: () => void; showHelp: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const items = found(useItems(showHelp, text.trim()), text)
  const chosen = Math.min(at, items.length - 1)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const run = (item: Item | undefined) => {
    if (!item) return
    close()
    item.act()
  }
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined) setAt((chosen + step + items.length) % Math.max(1, items.length))
    else if (event.key === 'Enter') run(items[chosen])
    else return
    event.preventDefault()
  }
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Find"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        role="combobox"
        aria-label="Find a page, a job, a model, a data set or an action"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={items.length > 0 ? `${id}-${chosen}` : undefined}
        autoComplete="off"
        autoFocus
        placeholder="Find a page, a job, a model, a data set or an action"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <ul id={id} role="listbox" aria-label="Found">
        {items.map((item, index) => (
          <li
            key={`${item.group} ${item.name} ${item.detail ?? ''}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(item)}
            onPointerMove={() => setAt(index)}
          >
            <span>{item.name}</span>
            {item.detail && <span className="quiet"> {item.detail}</span>}
            <span className="quiet small">{item.group}</span>
          </li>
        ))}
      </ul>
      <p className="quiet small" role="status">
        {items.length === 0 && 'Nothing has this name.'}
      </p>
    </dialog>
  )
}

/** Fewer letters are in the names of too many jobs. */
const shortest = 3

const pages = [
  ['Jobs', '/jobs'],
  ['Data', '/data'],
  ['Models', '/models'],
  ['Evaluations', '/evaluations'],
  ['Batches', '/batches'],
  ['Playground', '/playground'],
  ['Usage', '/usage'],
  ['Settings', '/settings'],
] as const

/** @param text that was typed: the service finds older jobs by it */
function useItems(showHelp: () => void, text: string): Item[] {
  const [, navigate] = useLocation()
  const mayTrain = useMay('training')
  const newest = useJobs().data ?? []
  const { data: older = [] } = useQuery({ ...namedJobsQuery(text), enabled: text.length >= shortest })
  const jobs = new Map([...newest, ...older].map((job) => [job.job_id, job])).values()
  const models = useQuery(modelsQuery).data ?? []
  const { datasets = [] } = useQuery(datasetsQuery).data ?? {}
  const mayAsk = useMay('inference')
  // A base model has no page of its own, only the playground.
  const shownModels = models.filter(({ job_id: jobId }) => mayAsk || jobId !== null)
  const [actions] = useState(actionsOfPage)
  const to = (group: string, name: string, path: string, detail?: string): Item => ({
    group,
    name,
    act: () => navigate(path),
    ...(detail !== undefined && detail !== name && { detail }),
  })
  return [
    ...actions,
    ...(mayTrain ? [to('Action', 'New job', '/new')] : []),
    ...(mayAsk ? [to('Action', 'New evaluation', '/evaluations?new=1')] : []),
    ...pages.map(([name, path]) => to('Page', name, path)),
    { group: 'Action', name: 'Keys and account', detail: 'sign out', act: showHelp },
    ...jobs.map(({ job_id: id, display_name: name, status }) =>
      to('Job', name, `/jobs/${id}`, `${id} · ${status.toLowerCase()}`),
    ),
    ...shownModels.map(({ id, aliases, job_id: jobId, display_name: name }) =>
      to(
        'Model',
        name ?? aliases[0] ?? short(id),
        jobId === null ? `/playground?models=${encodeURIComponent(id)}` : `/models/${encodeURIComponent(id)}`,
        jobId === null ? 'base, ask' : aliases.join(', ') || `job ${jobId}`,
      ),
    ),
    ...datasets.map(({ dataset_id: id, file_name: file }) =>
      to('Data set', file ?? id, `/data/${encodeURIComponent(id)}`, id),
    ),
  ]
}

/** The buttons and links beside the title of the present page. */
function actionsOfPage(): Item[] {
  const places = document.querySelectorAll<HTMLElement>('main .title :is(button:enabled, a)')
  return Array.from(places, (place) => ({
    group: 'This page',
    name: place.textContent,
    act: () => place.click(),
  })).filter(({ name }) => name !== '')
}
