// For a file whose columns have names of their own: chooses those of the inputs and outputs, and makes a data set of them.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { usePreview } from '../api/data.ts'
import { queryClient } from '../api/queries.ts'
import { useMay } from '../api/session.ts'
import { Failure } from '../ui/states.tsx'

export function MapColumns({ datasetId, done }: { datasetId: string; done: (id: string) => void }) {
  const columns = usePreview(datasetId).data?.columns ?? []
  const mayStore = useMay('data')
  const [input, setInput] = useState('')
  const [output, setOutput] = useState('')
  const map = useMutation({
    mutationFn: () =>
      api.POST('/v1/data/{dataset_id}/columns', {
        params: { path: { dataset_id: datasetId } },
        body: { input: input === '' ? null : input, output },
      }),
    onSuccess: async ({ dataset_id: id }) => {
      done(id)
      await queryClient.invalidateQueries({ queryKey: ['data'] })
    },
  })
  if (!mayStore || columns.length === 0) return null
  return (
    <fieldset>
      <legend>Map its columns</legend>
      <p className="quiet">Makes a data set of input and output from two columns of this file; the file stays.</p>
      <div className="filters">
        <Column
          label="Inputs are in"
          empty="no column: learn the outputs as whole texts"
          {...{ columns, value: input, choose: setInput }}
        />
        <Column label="Outputs are in" empty="choose a column" {...{ columns, value: output, choose: setOutput }} />
        <button type="button" disabled={output === '' || map.isPending} onClick={() => map.mutate()}>
          Map the columns
        </button>
      </div>
      {map.error && <Failure error={map.error} />}
    </fieldset>
  )
}

type ColumnProps = { label: string; empty: string; columns: string[]; value: string; choose: (name: string) => void }

function Column({ label, empty, columns, value, choose }: ColumnProps) {
  return (
    <label>
      <span className="quiet">{label}</span>
      <select value={value} onChange={(event) => choose(event.target.value)}>
        <option value="">{empty}</option>
        {columns.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
