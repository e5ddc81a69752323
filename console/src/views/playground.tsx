// A conversation with up to four models, side by side. The set-up is in the address, the texts are not.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Answered } from '../api/ask.ts'
import { keepAsked, type Asked } from '../api/asked.ts'
import { modelsQuery, type Model } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { answerMessage, isAskedAsChat, questionOf, userMessage, type Message, type Texts } from '../domain/chat.ts'
import { maxModels, readSetup, writeSetup, type Setup } from '../domain/playground.ts'
import { Commands } from '../ui/commands.tsx'
import { Icon } from '../ui/icon.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { useLocation, useSearch } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { toast } from '../ui/toast.tsx'
import { Composer } from './playground-composer.tsx'
import { AskedBefore } from './playground-history.tsx'
import { ModelPicker, useModelChoices } from './playground-models.tsx'
import { Settings } from './playground-settings.tsx'
import { TurnView, type Turn } from './playground-turn.tsx'

export function PlaygroundView() {
  usePageTitle('Playground')
  const models = useQuery(modelsQuery)
  const mayAsk = useMay('inference')
  if (!mayAsk)
    return (
      <>
        <h1>Playground</h1>
        <Empty>This key may not ask models: it needs the scope “inference”.</Empty>
      </>
    )
  return (
    <Answer query={models} what="the models">
      {(all) => <Playground models={all.filter(({ task }) => task === 'completion')} />}
    </Answer>
  )
}

/** The newest tuned model, or the first base. */
const usualModels = (models: readonly Model[]) => {
  const model = models.find(({ job_id: jobId }) => jobId !== null) ?? models[0]
  return model ? [model.id] : []
}

const noTexts: Texts = { system: null, tools: '' }

function Playground({ models }: { models: Model[] }) {
  const [, navigate] = useLocation()
  const read = readSetup(useSearch())
  const setup = { ...read, models: read.models.length > 0 ? read.models : usualModels(models) }
  const [texts, setTexts] = useState(noTexts)
  const [prompt, setPrompt] = useState('')
  const [showsHistory, setShowsHistory] = useState(false)
  const { choices, factsOf, nameOf } = useModelChoices(models, setup.models)
  const conversation = useConversation()
  const change = (changes: Partial<Setup>) =>
    navigate(`/playground?${writeSetup({ ...setup, ...changes })}`, { replace: true })
  const prepared = (asked: Setup, messages: Message[]) =>
    asked.models.map((model) => ({
      model,
      question: questionOf(model, factsOf(model), {
        setup: asked,
        texts,
        messages: [...conversation.messagesOf(model), ...messages],
      }),
    }))
  const ask = (asked: Setup, messages: Message[]) => conversation.add({ messages, asked: prepared(asked, messages) })
  const next = choices.find((choice) => !setup.models.includes(choice))
  const preview = attempt(() => prepared(setup, [userMessage(prompt)]))
  const submit = () => {
    ask(setup, [userMessage(prompt)])
    keepAsked({ at: new Date().toISOString(), setup: writeSetup(setup), prompt, ...texts })
    setPrompt('')
  }
  const askAgain = ({ setup: search, prompt: earlier, system, tools }: Asked) => {
    navigate(`/playground?${search}`, { replace: true })
    setTexts({ system, tools })
    setPrompt(earlier)
    setShowsHistory(false)
  }
  return (
    <div className="playground">
      <Title
        add={
          setup.models.length < maxModels && next !== undefined
            ? () => change({ models: [...setup.models, next] })
            : null
        }
        begin={conversation.turns.length > 0 ? conversation.clear : null}
        showHistory={() => setShowsHistory(true)}
        share={() => void share(setup)}
      />
      <div className="beside">
        <div className="talk">
          <ModelPicker
            chosen={setup.models}
            choices={choices}
            nameOf={nameOf}
            isChat={(model) => isAskedAsChat(setup, factsOf(model))}
            change={(chosen) => change({ models: chosen })}
          />
          {conversation.turns.length === 0 ? (
            <Empty>
              <p>
                The answers appear here side by side, each with its tokens and seconds. A chat sends the earlier turns
                along.
              </p>
            </Empty>
          ) : (
            <section aria-label="Answers">
              {conversation.turns.map((turn) => (
                <TurnView
                  key={turn.id}
                  turn={turn}
                  models={setup.models}
                  nameOf={nameOf}
                  factsOf={factsOf}
                  isLast={turn.id === conversation.turns.at(-1)?.id}
                  done={(model, answer) => conversation.keep(turn.id, model, answer)}
                  askAsChat={(model) => {
                    change({ chat: 'yes' })
                    ask({ ...setup, models: [model], chat: 'yes', rows: '' }, turn.messages)
                  }}
                  sendResults={(model, results) => ask({ ...setup, models: [model], chat: 'yes' }, results)}
                />
              ))}
            </section>
          )}
          <Composer
            prompt={prompt}
            setPrompt={setPrompt}
            problem={preview.problem}
            canAsk={preview.value !== undefined && setup.models.length > 0}
            submit={submit}
          />
        </div>
        <Settings
          setup={setup}
          change={change}
          texts={texts}
          changeTexts={(changes) => setTexts({ ...texts, ...changes })}
          learned={setup.models.map(factsOf).find(({ system_message: learned }) => learned)?.system_message ?? ''}
          isChat={setup.models.some((model) => isAskedAsChat(setup, factsOf(model)))}
        />
      </div>
      {preview.value?.[0] && prompt !== '' && (
        <Commands path={preview.value[0].question.path} body={preview.value[0].question.body} />
      )}
      {showsHistory && <AskedBefore nameOf={nameOf} choose={askAgain} close={() => setShowsHistory(false)} />}
    </div>
  )
}

type TitleProps = {
  /** Null where there is nothing to add. */
  add: (() => void) | null
  /** Begins a new conversation; null where none is there yet. */
  begin: (() => void) | null
  showHistory: () => void
  share: () => void
}

const Title = ({ add, begin, showHistory, share }: TitleProps) => (
  <div className="title">
    <h1>Playground</h1>
    <div className="buttons">
      {add && (
        <button type="button" onClick={add}>
          <Icon name="plus" /> Add a model
        </button>
      )}
      {begin && (
        <button type="button" onClick={begin}>
          New conversation
        </button>
      )}
      <button type="button" onClick={showHistory}>
        History
      </button>
      <button type="button" onClick={share}>
        Share
      </button>
    </div>
  </div>
)

async function share(setup: Setup) {
  const address = `${location.origin}/console/playground?${writeSetup(setup)}`
  await navigator.clipboard.writeText(address)
  toast('Copied a link to this set-up. The texts are not in it.')
}

/** @returns the value, or the sentence of the error */
function attempt<T>(make: () => T): { value?: T; problem?: string } {
  try {
    return { value: make() }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** The turns of this page with the answers of each model. A later turn sends along whole answers that are not empty. */
function useConversation() {
  const [turns, setTurns] = useState<Turn[]>([])
  const [answers, setAnswers] = useState<ReadonlyMap<string, Answered>>(new Map())
  const keyOf = (turn: number, model: string) => `${turn} ${model}`
  const messagesOf = (model: string): Message[] =>
    turns.flatMap(({ id, messages }) => {
      const answer = answers.get(keyOf(id, model))
      if (!answer || (answer.text.trim() === '' && answer.calls.length === 0)) return []
      return [...messages, answerMessage(answer.text, answer.calls)]
    })
  return {
    turns,
    messagesOf,
    add: (turn: Omit<Turn, 'id'>) => setTurns([...turns, { id: (turns.at(-1)?.id ?? 0) + 1, ...turn }]),
    keep: (turn: number, model: string, answer: Answered) =>
      setAnswers((known) => new Map(known).set(keyOf(turn, model), answer)),
    clear: () => {
      setTurns([])
      setAnswers(new Map())
    },
  }
}
