// One prompt to several models, side by side.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ask, type Question } from '../api/ask.ts'
import { useJobs } from '../api/job-list.ts'
import { modelsQuery, startQuery } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { short } from '../domain/format.ts'
import { maxModels, outputType, readSetup, samplingOf, writeSetup, type Setup } from '../domain/playground.ts'
import { Commands } from '../ui/commands.tsx'
import { Labelled } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { useLocation, useSearch } from '../ui/router.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { TypeForm } from './type-form.tsx'

export function PlaygroundView() {
  usePageTitle('Playground')
  const models = useQuery(modelsQuery)
  const mayAsk = useMay('inference')
  return (
    <>
      <h1>Playground</h1>
      {mayAsk ? (
        <Answer query={models} what="the models">
          {(all) => <Playground models={all.filter(({ task }) => task === 'completion')} />}
        </Answer>
      ) : (
        <Empty>This key may not ask models: it needs the scope “inference”.</Empty>
      )}
    </>
  )
}

type Model = { id: string; job_id: number | null; base_model: string | null; aliases: string[] }

/** A tuned model can also be chosen by an alias such as bot@production, which may move later; not by its version. */
const choicesOf = ({ id, job_id: jobId, aliases }: Model) =>
  jobId === null ? [id] : [id, ...aliases.filter((alias) => !/@\d+$/.test(alias))]

/** What a person calls the model. */
function useModelNames(models: readonly Model[]) {
  const jobs = useJobs()
  return (id: string) => {
    const model = models.find((each) => each.id === id)
    const job = jobs.data?.find(({ job_id: jobId }) => jobId === model?.job_id)
    if (!model || model.job_id === null) return id
    return `${job?.requested_name || short(id)}, job ${model.job_id}`
  }
}

function Playground({ models }: { models: Model[] }) {
  const [, navigate] = useLocation()
  const read = readSetup(useSearch())
  const setup = { ...read, models: read.models.length > 0 ? read.models : models.slice(0, 1).map(({ id }) => id) }
  const [prompt, setPrompt] = useState('')
  const [asked, setAsked] = useState<{ number: number; questions: Question[] } | null>(null)
  const nameOf = useModelNames(models)
  const change = (changes: Partial<Setup>) =>
    navigate(`/playground?${writeSetup({ ...setup, ...changes })}`, { replace: true })
  const made = questionsOf(setup, prompt)
  const offered = models.flatMap(choicesOf)
  const toggle = (id: string) =>
    change({
      models: setup.models.includes(id) ? setup.models.filter((each) => each !== id) : [...setup.models, id],
    })
  const choices = new Set([...setup.models.filter((id) => !offered.includes(id)), ...offered])
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (made.questions) setAsked({ number: (asked?.number ?? 0) + 1, questions: made.questions })
        }}
      >
        <fieldset>
          <legend>Models, up to {maxModels}</legend>
          {[...choices].map((id) => (
            <label key={id} className="inline choice">
              <input
                type="checkbox"
                checked={setup.models.includes(id)}
                disabled={!setup.models.includes(id) && setup.models.length >= maxModels}
                onChange={() => toggle(id)}
              />{' '}
              {nameOf(id)}
            </label>
          ))}
        </fieldset>
        <div className="field">
          <label htmlFor="prompt">Prompt</label>
          <textarea
            id="prompt"
            rows={5}
            required
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
            }}
          />
        </div>
        <TypeForm fields={setup.type} change={(type) => change({ type })} />
        <div className="filters">
          {settings.map(([field, label, hint]) => (
            <Labelled key={field} name={label}>
              <input
                value={setup[field]}
                placeholder={hint}
                size={8}
                onChange={(event) => change({ [field]: event.target.value })}
              />
            </Labelled>
          ))}
          <label className="inline">
            <input
              type="checkbox"
              checked={setup.chat !== ''}
              disabled={!isText(setup)}
              onChange={(event) => change({ chat: event.target.checked ? '1' : '' })}
            />{' '}
            As a chat message
          </label>
          <button type="submit" className="primary" disabled={!made.questions || setup.models.length === 0}>
            Ask
          </button>
        </div>
        {made.problem && <p className="notice failure">{made.problem}</p>}
      </form>
      {asked && (
        <section className="columns" aria-label="Answers" key={asked.number}>
          {asked.questions.map((question, index) => (
            <ModelAnswer
              key={index}
              question={question}
              model={setup.models[index] ?? ''}
              name={nameOf(setup.models[index] ?? '')}
            />
          ))}
        </section>
      )}
      {made.questions?.[0] && prompt !== '' && <Commands path={made.questions[0].path} body={made.questions[0].body} />}
    </>
  )
}

/** OpenAI's default of 16 cuts most answers. */
const defaultTokens = 256

const settings = [
  ['temperature', 'Temperature', 'default'],
  ['topP', 'Top p', 'default'],
  ['maxTokens', 'Tokens at most', String(defaultTokens)],
  ['seed', 'Seed', 'none'],
  ['rows', 'Stored rows of', 'none'],
] as const

const isText = ({ type, rows }: Setup) => type.length === 0 && rows === ''

/** Typed answers and stored rows are of /v2; streams of text are OpenAI's. */
function questionsOf(setup: Setup, prompt: string): { questions?: Question[]; problem?: string } {
  try {
    const type = outputType(setup.type)
    const sampling = { max_tokens: defaultTokens, ...samplingOf(setup) }
    const isStreamed = isText(setup)
    const isChat = isStreamed && setup.chat !== ''
    const streamed = isChat ? '/openai/v1/chat/completions' : '/openai/v1/completions'
    return {
      questions: setup.models.map((model) => ({
        isStreamed,
        path: isStreamed ? streamed : '/v2/completions',
        body: isStreamed
          ? { model, ...(isChat ? { messages: [{ role: 'user', content: prompt }] } : { prompt }), ...sampling }
          : {
              model_name: model,
              prompt,
              ...sampling,
              ...(type && { output_type: type }),
              ...(setup.rows === '' ? {} : { id: setup.rows }),
              include_rows: true,
            },
      })),
    }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

function ModelAnswer({ question, model, name }: { question: Question; model: string; name: string }) {
  const [text, setText] = useState('')
  const stop = useRef<AbortController>(null)
  const answer = useMutation({
    mutationFn: () => {
      stop.current = new AbortController()
      return ask(question, setText, stop.current.signal)
    },
    onSuccess: ({ text: whole }) => setText(whole),
  })
  const rows = answer.data?.rows
  const { data: starting } = useQuery({ ...startQuery(model), enabled: answer.isPending && text === '' })
  const isStopped = answer.error instanceof DOMException
  const { mutate } = answer
  useEffect(() => {
    mutate()
    return () => stop.current?.abort()
  }, [mutate])
  return (
    <article aria-busy={answer.isPending} className="answer">
      <h2>{name}</h2>
      <p className="text" aria-live="polite">
        {text}
        {answer.isPending && text === '' && <span className="quiet">{starting ?? 'Waiting for the model…'}</span>}
        {answer.isSuccess && text === '' && <span className="quiet">The answer is empty.</span>}
      </p>
      {rows && (rows.length > 0 || 'id' in question.body) && (
        <details>
          <summary>
            {rows.length === 0 ? 'No stored row was used' : `Stored rows that were used: ${rows.length}`}
          </summary>
          <ol>
            {rows.map((row) => (
              <li key={row} className="text">
                {row}
              </li>
            ))}
          </ol>
        </details>
      )}
      {answer.isPending && (
        <button type="button" onClick={() => stop.current?.abort()}>
          Stop
        </button>
      )}
      {isStopped && <p className="quiet">Stopped.</p>}
      {answer.error && !isStopped && <Failure error={answer.error} retry={() => mutate()} />}
    </article>
  )
}
