// The models that are asked: one column each.
import { useJobs } from '../api/job-list.ts'
import type { Model } from '../api/models.ts'
import type { ModelFacts } from '../domain/chat.ts'
import { short } from '../domain/format.ts'
import { Chip } from '../ui/chip.tsx'
import { Icon } from '../ui/icon.tsx'

/** A tuned model can also be chosen by an alias such as bot@production, which may move later; not by its version. */
const choicesOf = ({ id, job_id: jobId, aliases }: Model) =>
  jobId === null ? [id] : [id, ...aliases.filter((alias) => !/@\d+$/.test(alias))]

const noFacts: ModelFacts = {}

/** What can be chosen, what the service says about each model, and what a person calls it. */
export function useModelChoices(models: readonly Model[], chosen: readonly string[]) {
  const jobs = useJobs()
  const find = (name: string) => models.find(({ id, aliases }) => id === name || aliases.includes(name))
  const offered = models.flatMap(choicesOf)
  const nameOf = (name: string) => {
    const model = find(name)
    if (!model || model.job_id === null || model.id !== name) return short(name)
    if (model.display_name) return model.display_name
    const job = jobs.data?.find(({ job_id: jobId }) => jobId === model.job_id)
    const version = model.aliases.find((alias) => /@\d+$/.test(alias))
    return version ?? `${job?.requested_name || short(name)}, job ${model.job_id}`
  }
  return {
    choices: [...new Set([...chosen.filter((name) => !offered.includes(name)), ...offered])],
    factsOf: (name: string): ModelFacts => find(name) ?? noFacts,
    nameOf,
  }
}

type Props = {
  chosen: readonly string[]
  choices: readonly string[]
  nameOf: (model: string) => string
  isChat: (model: string) => boolean
  change: (chosen: string[]) => void
}

export function ModelPicker({ chosen, choices, nameOf, isChat, change }: Props) {
  return (
    <div className="model-columns picker">
      {chosen.map((model, at) => (
        <div key={at} className="buttons" role="group" aria-label={`Model ${at + 1}`}>
          <select
            aria-label={`Model ${at + 1}`}
            value={model}
            onChange={({ target: { value } }) => change(chosen.map((each, index) => (index === at ? value : each)))}
          >
            {choices
              .filter((choice) => choice === model || !chosen.includes(choice))
              .map((choice) => (
                <option key={choice} value={choice}>
                  {nameOf(choice)}
                </option>
              ))}
          </select>
          <Chip tone={isChat(model) ? 'runs' : 'waits'}>{isChat(model) ? 'chat' : 'prompt'}</Chip>
          {chosen.length > 1 && (
            <button
              type="button"
              className="plain small"
              aria-label={`Remove ${nameOf(model)}`}
              onClick={() => change(chosen.filter((each) => each !== model))}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
    </div>
  )
}
