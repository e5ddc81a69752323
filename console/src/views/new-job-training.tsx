// The method of a new job, with its hyperparameters, and the arguments of its training.
import { useQuery } from '@tanstack/react-query'
import { methodsQuery, type Methods } from '../api/jobs.ts'
import { modelsQuery } from '../api/models.ts'
import { fields, withField, type JobForm, type MethodName } from '../domain/job-form.ts'
import { Card } from '../ui/card.tsx'
import { Field } from '../ui/field.tsx'
import { Choice } from '../ui/labelled.tsx'

type Props = {
  form: JobForm
  change: (changes: Partial<JobForm>) => void
  /** The methods that train on the data; absent while they are not known. */
  fitting: readonly MethodName[] | undefined
  /** What the service says of a field, by its path in the request. */
  problems: ReadonlyMap<string, string>
}

const meanings: Record<MethodName, string> = {
  supervised: 'supervised: learn the answers',
  dpo: 'dpo: prefer the better of two answers',
  kto: 'kto: learn from judged answers',
  reinforcement: 'reinforcement: learn from the rewards of a grader',
}

const graderExample =
  '{"type": "string_check", "name": "right", "operation": "eq", "input": "{{sample.output_text}}", "reference": "{{item.answer}}"}'

/** The service names the place within the grader. */
const graderProblem = (problems: Props['problems']) =>
  [...problems].find(([path]) => path.startsWith('method.reinforcement.grader'))?.[1]

export function TrainingPart({ form, change, fitting, problems }: Props) {
  return (
    <Card title="Training">
      <p className="quiet lead">
        A LoRA adapter is trained on the base. The arguments are those that the model recommends, unless you change
        them.
      </p>
      <Choice
        label="Method"
        value={form.method}
        values={fitting ?? [form.method]}
        textOf={(method) => meanings[method]}
        onChange={(method) => change({ method, knobs: {} })}
      />
      {form.method === 'reinforcement' && (
        <Field
          id="grader"
          label="Grader, as JSON"
          hint="rewards the answers that the model samples; item holds the other fields of a row"
          problem={graderProblem(problems)}
        >
          <textarea
            id="grader"
            rows={4}
            value={form.grader}
            placeholder={graderExample}
            onChange={(event) => change({ grader: event.target.value })}
          />
        </Field>
      )}
      <Knobs form={form} change={change} problems={problems} />
      <Arguments form={form} change={change} problems={problems} />
    </Card>
  )
}

type PartProps = Pick<Props, 'form' | 'change' | 'problems'>

function Knobs({ form: { method, knobs }, change, problems }: PartProps) {
  const all = useQuery(methodsQuery).data?.find(({ type }) => type === method)?.hyperparameters ?? []
  const known = all.filter(({ name }) => !withField.includes(name))
  if (known.length === 0) return null
  const lossType = knobs['loss_type'] || String(known.find(({ name }) => name === 'loss_type')?.default)
  const pathOf = (name: string) => `method.${method}.hyperparameters.${name}`
  return (
    <details open={Object.keys(knobs).length > 0 || known.some(({ name }) => problems.has(pathOf(name)))}>
      <summary>Hyperparameters of {method}; empty fields have the defaults</summary>
      <div className="columns">
        {known.map((knob) => (
          <Field
            key={knob.name}
            id={knob.name}
            label={knob.name}
            hint={hintOf(knob)}
            problem={problems.get(pathOf(knob.name))}
          >
            <KnobInput
              knob={knob}
              preset={String(knob.defaults_by_loss_type?.[lossType] ?? knob.default)}
              value={knobs[knob.name] ?? ''}
              onChange={(text) => change({ method, knobs: { ...knobs, [knob.name]: text } })}
            />
          </Field>
        ))}
      </div>
    </details>
  )
}

type Knob = Methods[number]['hyperparameters'][number]

const hintOf = ({ description, minimum, maximum }: Knob) =>
  minimum === undefined ? description : `${description} (${minimum} to ${maximum})`

type InputProps = { knob: Knob; preset: string; value: string; onChange: (text: string) => void }

function KnobInput({ knob: { name, choices, default: usual }, preset, value, onChange }: InputProps) {
  const values = choices ?? (typeof usual === 'boolean' ? ['true', 'false'] : null)
  if (values === null)
    return (
      <input
        id={name}
        inputMode="decimal"
        value={value}
        placeholder={preset}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  return (
    <select id={name} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{preset} (default)</option>
      {values.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  )
}

/** These have other defaults where the method is not supervised. */
const ofMethod = ['learning_rate', 'batch_size']

function Arguments({ form, change, problems }: PartProps) {
  const recommended = useQuery(modelsQuery).data?.find(({ id }) => id === form.model)?.recommended_args
  const presetOf = (name: string) =>
    form.method !== 'supervised' && ofMethod.includes(name) ? undefined : recommended?.[name]
  const pathOf = (name: string) => `finetune_args.${name}`
  const hasProblem = fields.some(([name]) => problems.has(pathOf(name)))
  return (
    <details open={Object.keys(form.args).length > 0 || form.more !== '' || hasProblem}>
      <summary>Arguments; empty fields are the model's recommended ones</summary>
      <div className="columns">
        {fields.map(([name, label, hint]) => (
          <Field key={name} id={name} label={label} hint={hint} problem={problems.get(pathOf(name))}>
            <input
              id={name}
              inputMode="decimal"
              value={form.args[name] ?? ''}
              placeholder={JSON.stringify(presetOf(name))}
              onChange={(event) => change({ args: { ...form.args, [name]: event.target.value } })}
            />
          </Field>
        ))}
      </div>
      <Field id="more" label="Further arguments, as JSON">
        <textarea id="more" rows={2} value={form.more} onChange={(event) => change({ more: event.target.value })} />
      </Field>
    </details>
  )
}
