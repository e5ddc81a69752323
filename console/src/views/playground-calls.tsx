// The calls of functions that a model has written. The user plays the functions: the results go back to this model.
import { useState } from 'react'
import type { Call, Message } from '../domain/chat.ts'

type Props = { calls: readonly Call[]; send: ((results: Message[]) => void) | null }

export function ToolCalls({ calls, send }: Props) {
  const [results, setResults] = useState<Readonly<Record<string, string>>>({})
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send?.(calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: results[id] ?? '' })))
      }}
    >
      {calls.map(({ id, name, arguments: text }) => (
        <div key={id} className="field">
          <label htmlFor={id}>
            <code>
              {name}({text})
            </code>
          </label>
          {send && (
            <input
              id={id}
              required
              placeholder={`Result of ${name}`}
              value={results[id] ?? ''}
              onChange={(event) => setResults({ ...results, [id]: event.target.value })}
            />
          )}
        </div>
      ))}
      {send && (
        <button type="submit" className="small">
          Send {calls.length === 1 ? 'the result' : 'the results'}
        </button>
      )}
    </form>
  )
}
