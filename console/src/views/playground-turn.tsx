// One turn of the playground: what was asked, and the answer of each model in its column.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ask, type Answered } from '../api/ask.ts'
import { startQuery } from '../api/models.ts'
import type { Message, ModelFacts, Question } from '../domain/chat.ts'
import { count } from '../domain/format.ts'
import { Failure } from '../ui/states.tsx'
import { ToolCalls } from './playground-calls.tsx'

export type Turn = { id: number; messages: Message[]; asked: { model: string; question: Question }[] }

type Props = {
  turn: Turn
  /** The columns of the page. */
  models: readonly string[]
  nameOf: (model: string) => string
  factsOf: (model: string) => ModelFacts
  isLast: boolean
  done: (model: string, answer: Answered) => void
  askAsChat: (model: string) => void
  sendResults: (model: string, results: Message[]) => void
}

export function TurnView({ turn, models, nameOf, factsOf, isLast, done, askAsChat, sendResults }: Props) {
  return (
    <div className="turn">
      {turn.messages.map((message, index) => (
        <p key={index} className="asked text">
          {message.role === 'tool' && <span className="quiet">Result: </span>}
          {message.content}
        </p>
      ))}
      <div className="model-columns">
        {models.map((model) => {
          const question = turn.asked.find((each) => each.model === model)?.question
          if (!question) return <div key={model} className="nothing" />
          return (
            <ModelAnswer
              key={model}
              question={question}
              model={model}
              name={nameOf(model)}
              facts={factsOf(model)}
              done={(answer) => done(model, answer)}
              askAsChat={() => askAsChat(model)}
              sendResults={isLast ? (results) => sendResults(model, results) : null}
            />
          )
        })}
      </div>
    </div>
  )
}

type AnswerProps = {
  question: Question
  model: string
  name: string
  facts: ModelFacts
  done: (answer: Answered) => void
  askAsChat: () => void
  sendResults: ((results: Message[]) => void) | null
}

function ModelAnswer({ question, model, name, facts, done, askAsChat, sendResults }: AnswerProps) {
  const [text, setText] = useState('')
  const stop = useRef<AbortController>(null)
  const answer = useMutation({
    mutationFn: () => {
      stop.current = new AbortController()
      return ask(question, setText, stop.current.signal)
    },
    onSuccess: (whole) => {
      setText(whole.text)
      done(whole)
    },
  })
  const { data: starting } = useQuery({ ...startQuery(model), enabled: answer.isPending && text === '' })
  const isStopped = answer.error instanceof DOMException
  const { mutate } = answer
  useEffect(() => {
    mutate()
    return () => stop.current?.abort()
  }, [mutate])
  const whole = answer.data
  const isEmpty = whole !== undefined && text.trim() === '' && whole.calls.length === 0
  return (
    <article aria-busy={answer.isPending} aria-label={name} className="answer">
      <p className={isEmpty ? 'hidden' : 'text'} aria-live="polite">
        {readable(text, question)}
        {answer.isPending && text === '' && <span className="quiet">{starting ?? 'Waiting for the model…'}</span>}
      </p>
      {isEmpty && <EmptyAnswer question={question} facts={facts} askAsChat={askAsChat} />}
      {whole && whole.calls.length > 0 && <ToolCalls calls={whole.calls} send={sendResults} />}
      {whole?.warning && !isEmpty && <p className="notice warning">{whole.warning}</p>}
      {whole?.rows && <StoredRows rows={whole.rows} />}
      {whole && <p className="quiet small">{measuresOf(whole)}</p>}
      {answer.isPending && (
        <button type="button" className="small" onClick={() => stop.current?.abort()}>
          Stop
        </button>
      )}
      {isStopped && <p className="quiet small">Stopped.</p>}
      {answer.error && !isStopped && <Failure error={answer.error} retry={() => mutate()} />}
    </article>
  )
}

/** A structured answer comes without white space. */
function readable(text: string, { body }: Question): string {
  if (!('response_format' in body) && !('output_type' in body)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function measuresOf({ tokens, seconds, firstSeconds, isCut }: Answered): string {
  const parts = [
    ...(tokens ? [`${count(tokens.completion)} tokens, ${count(tokens.prompt)} in the prompt`] : []),
    `${seconds.toFixed(2)} s`,
    ...(firstSeconds === null ? [] : [`first token after ${firstSeconds.toFixed(2)} s`]),
    ...(isCut ? ['cut at “Max tokens”'] : []),
  ]
  return parts.join(' · ')
}

function EmptyAnswer({ question, facts, askAsChat }: Pick<AnswerProps, 'question' | 'facts' | 'askAsChat'>) {
  const hasLearnedChats = facts.learned_form === 'conversations'
  const canChat = !question.isChat && (hasLearnedChats || facts.has_chat_template !== false)
  return (
    <div className="notice warning">
      <p>{hasLearnedChats && canChat ? 'Empty answer: this model learned conversations.' : 'The answer is empty.'}</p>
      {canChat && (
        <button type="button" className="small" onClick={askAsChat}>
          Ask as chat
        </button>
      )}
    </div>
  )
}

const StoredRows = ({ rows }: { rows: string[] }) => (
  <details>
    <summary>{rows.length === 0 ? 'No stored row was used' : `Stored rows that were used: ${rows.length}`}</summary>
    <ol>
      {rows.map((row) => (
        <li key={row} className="text">
          {row}
        </li>
      ))}
    </ol>
  </details>
)
