import { types, type TypedField } from '../domain/playground.ts'
import { Choice, Labelled } from '../ui/labelled.tsx'

const oneOf = 'one of'
const kinds = [...types, oneOf]

/** Makes the type of an answer: a row for each of its fields. */
export function TypeForm({ fields, change }: { fields: TypedField[]; change: (fields: TypedField[]) => void }) {
  const set = (at: number, changes: Partial<TypedField>) =>
    change(fields.map((field, index) => (index === at ? { ...field, ...changes } : field)))
  return (
    <fieldset>
      <legend>Structured answer</legend>
      {fields.map(({ name, type }, at) => {
        const isChoice = !types.includes(type)
        return (
          <div key={at} className="filters" role="group" aria-label={`Field ${at + 1}`}>
            <Labelled name="Name">
              <input required value={name} onChange={(event) => set(at, { name: event.target.value })} />
            </Labelled>
            <Choice
              label="Type"
              value={isChoice ? oneOf : type}
              values={kinds}
              onChange={(kind) => set(at, { type: kind === oneOf ? '' : kind })}
            />
            {isChoice && (
              <Labelled name="Values">
                <input
                  required
                  placeholder="red|white"
                  value={type}
                  onChange={(event) => set(at, { type: event.target.value })}
                />
              </Labelled>
            )}
            <button type="button" className="small" onClick={() => change(fields.filter((_, index) => index !== at))}>
              Remove {name}
            </button>
          </div>
        )
      })}
      <button type="button" className="small" onClick={() => change([...fields, { name: '', type: 'str' }])}>
        Add a field
      </button>
    </fieldset>
  )
}
