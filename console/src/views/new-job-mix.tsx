// Several data sets of a new job: which, and how often the rows of each are visited beside those of the others.
import { useQuery } from '@tanstack/react-query'
import { datasetsQuery } from '../api/data.ts'
import { short } from '../domain/format.ts'
import { sharesOf, withSets } from '../domain/data-set-mix.ts'
import type { JobForm } from '../domain/job-form.ts'
import { Choice } from '../ui/labelled.tsx'
import { Table } from '../ui/table.tsx'

type Props = {
  form: JobForm
  change: (changes: Partial<JobForm>) => void
  problems: ReadonlyMap<string, string>
}

export function Mix({ form: { datasetId, sets }, change, problems }: Props) {
  const known = useQuery(datasetsQuery).data?.datasets ?? []
  const nameOf = (id: string) => known.find((each) => each.dataset_id === id)?.file_name ?? short(id)
  const mixed = sets ?? [{ id: datasetId, weight: '1' }]
  const others = known.map(({ dataset_id: id }) => id).filter((id) => !mixed.some((set) => set.id === id))
  const shares = sharesOf(mixed)
  const problem = [...problems].find(([path]) => path.startsWith('datasets'))?.[1]
  const setWeight = (id: string, weight: string) =>
    change(withSets(mixed.map((set) => (set.id === id ? { id, weight } : set))))
  return (
    <>
      {sets && (
        <>
          <Table
            label="Data sets of the job"
            rows={[...sets]}
            keyOf={({ id }) => id}
            columns={[
              { name: 'Data set', cell: ({ id }) => <span title={id}>{nameOf(id)}</span> },
              {
                name: 'Weight',
                className: 'number',
                cell: ({ id, weight }) => (
                  <input
                    aria-label={`Weight of ${nameOf(id)}`}
                    inputMode="decimal"
                    size={6}
                    value={weight}
                    onChange={(event) => setWeight(id, event.target.value)}
                  />
                ),
              },
              {
                name: 'Share of the visits',
                className: 'number',
                cell: ({ id }) => (shares ? shareInWords(shares[sets.findIndex((set) => set.id === id)] ?? 0) : '–'),
              },
              {
                name: '',
                cell: ({ id }) => (
                  <button
                    type="button"
                    className="plain"
                    aria-label={`Leave out ${nameOf(id)}`}
                    onClick={() => change(withSets(mixed.filter((set) => set.id !== id)))}
                  >
                    Leave out
                  </button>
                ),
              },
            ]}
          />
          <p className="quiet small">The check below is of the first one; the estimate reads all.</p>
        </>
      )}
      {problem && <p className="notice failure">{problem}</p>}
      {others.length > 0 && (
        <Choice
          label={sets ? 'Mix in one more' : 'Mix with another data set'}
          value=""
          values={['', ...others]}
          textOf={(id) => (id === '' ? 'none' : nameOf(id))}
          onChange={(id) => id !== '' && change(withSets([...mixed, { id, weight: '1' }]))}
        />
      )}
    </>
  )
}

/** With three digits: thirds do not look like 33 %. */
const shareInWords = (share: number) => `${Number((share * 100).toPrecision(3))} %`
