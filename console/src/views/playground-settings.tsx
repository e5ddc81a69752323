// How the models of the playground are asked.
import { defaultTokens, type Texts } from '../domain/chat.ts'
import type { Setup } from '../domain/playground.ts'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { TypeForm } from './type-form.tsx'

type Props = {
  setup: Setup
  change: (changes: Partial<Setup>) => void
  texts: Texts
  changeTexts: (changes: Partial<Texts>) => void
  /** The system message that the models learned with, or ''. */
  learned: string
  /** Whether a model is asked as a chat. */
  isChat: boolean
}

const ways = ['', 'yes', 'no']
const nameOfWay: Record<string, string> = { '': 'as it learned', yes: 'as a chat', no: 'with a plain prompt' }

const numbers = [
  ['temperature', 'Temperature', 'default'],
  ['maxTokens', 'Max tokens', String(defaultTokens)],
  ['topP', 'Top p', 'default'],
  ['seed', 'Seed', 'none'],
] as const

export function Settings({ setup, change, texts, changeTexts, learned, isChat }: Props) {
  return (
    <section className="settings" aria-label="Settings">
      <Choice
        label="Ask each model"
        value={setup.rows === '' ? setup.chat : 'no'}
        values={setup.rows === '' ? ways : ['no']}
        textOf={(way) => nameOfWay[way] ?? way}
        onChange={(chat) => change({ chat })}
      />
      {isChat && (
        <>
          <Labelled name="System message">
            <textarea
              rows={3}
              value={texts.system ?? learned}
              placeholder="none"
              onChange={(event) => changeTexts({ system: event.target.value })}
            />
          </Labelled>
          {learned !== '' && (
            <p className="quiet small">
              {texts.system === null ? (
                'Most rows of the training had this message.'
              ) : (
                <button type="button" className="small" onClick={() => changeTexts({ system: null })}>
                  Use the message of the training
                </button>
              )}
            </p>
          )}
        </>
      )}
      <div className="pairs">
        {numbers.map(([field, label, hint]) => (
          <Labelled key={field} name={label}>
            <input
              value={setup[field]}
              placeholder={hint}
              size={6}
              inputMode="decimal"
              onChange={(event) => change({ [field]: event.target.value })}
            />
          </Labelled>
        ))}
      </div>
      <TypeForm fields={setup.type} change={(type) => change({ type })} />
      {isChat && (
        <details open={texts.tools !== ''}>
          <summary>Tools</summary>
          <Labelled name="Functions, as JSON">
            <textarea
              rows={6}
              spellCheck={false}
              placeholder='[{"type": "function", "function": {"name": "stock", "parameters": {"type": "object", "properties": {"item": {"type": "string"}}}}}]'
              value={texts.tools}
              onChange={(event) => changeTexts({ tools: event.target.value })}
            />
          </Labelled>
        </details>
      )}
      <details open={setup.rows !== ''}>
        <summary>Stored rows</summary>
        <Labelled name="Put the rows of this id before the prompt">
          <input value={setup.rows} placeholder="none" onChange={(event) => change({ rows: event.target.value })} />
        </Labelled>
      </details>
    </section>
  )
}
