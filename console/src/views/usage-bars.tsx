import type { Usage, Used } from '../api/account.ts'
import { useNames } from '../api/names.ts'
import { count, duration, money } from '../domain/format.ts'
import { stacksOf } from '../domain/usage-bars.ts'
import { Choice } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'

/** The style sheet has this many colours. */
const mostNames = 8

type Measure = { text: string; valueOf: (row: Used) => number; shown: (value: number) => string }

const measures = {
  time: { text: 'time', valueOf: (row: Used) => row.training_seconds + row.engine_seconds, shown: duration },
  gpu: { text: 'GPU time', valueOf: (row: Used) => row.gpu_seconds, shown: duration },
  tokens: { text: 'tokens', valueOf: (row: Used) => row.prompt_tokens + row.completion_tokens, shown: count },
  prompts: { text: 'prompts', valueOf: (row: Used) => row.prompts, shown: count },
} satisfies Record<string, Measure>

function measuresOf(currency: string | undefined): Record<string, Measure> {
  if (currency === undefined) return measures
  const shown = (micros: number) => money(micros, currency)
  return { ...measures, cost: { text: 'cost', valueOf: (row: Used) => row.cost_micros ?? 0, shown } }
}

/** A bar for each day, made of the models that were used. The table below has the same numbers. */
export function UsageBars({ rows, days, currency }: Usage & { days: readonly string[] }) {
  const [query, change] = useQueryOfAddress()
  const all = measuresOf(currency)
  const names = Object.keys(all)
  const measure = names.find((each) => each === query.get('measure')) ?? 'time'
  const { valueOf, shown, text } = all[measure] ?? measures.time
  const { modelName } = useNames()
  const stacks = stacksOf(rows, { days, valueOf, mostNames })
  return (
    <figure className="usage-bars">
      <figcaption className="filters">
        <Choice
          label="Bars of"
          value={measure}
          values={names}
          textOf={(each) => all[each]?.text ?? each}
          onChange={(each) => change({ measure: each === 'time' ? '' : each })}
        />
        <ul className="legend" aria-label="Models">
          {stacks.names.map((name, look) => (
            <li key={name}>
              <span className="swatch" style={{ background: `var(--curve-${look})` }} /> {modelName(name)}
            </li>
          ))}
        </ul>
        <span className="quiet small">{stacks.most === 0 ? '' : `at most ${shown(stacks.most)} a day`}</span>
      </figcaption>
      <div className="stacks" role="img" aria-label={`The ${text} of each day by model; at most ${shown(stacks.most)}`}>
        {stacks.days.map(({ day, values, sum }) => (
          <div key={day} title={sum === 0 ? `${day}: nothing` : `${day}: ${shown(sum)}`}>
            {values.map((value, look) => (
              <span
                key={look}
                style={{
                  height: `${stacks.most === 0 ? 0 : (100 * value) / stacks.most}%`,
                  background: `var(--curve-${look})`,
                }}
              />
            ))}
          </div>
        ))}
      </div>
      <p className="ends quiet small" aria-hidden="true">
        <span>{days[0]}</span>
        <span>{days.at(-1)}</span>
      </p>
    </figure>
  )
}
