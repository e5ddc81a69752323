// The same as a request of one's own.
import { useState } from 'react'
import { commandsOf } from '../domain/job-form.ts'
import { Code } from './text.tsx'

export function Commands({ path, body }: { path: string; body: object }) {
  const all = commandsOf(path, body, location.origin)
  const names = Object.keys(all)
  const [chosen, setChosen] = useState(names[0] ?? '')
  return (
    <details>
      <summary>Show as {names.join(', ')}</summary>
      <label className="inline">
        As{' '}
        <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Code text={all[chosen] ?? ''} />
    </details>
  )
}
