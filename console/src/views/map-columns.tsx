// For a file whose columns have names of their own: chooses those of the inputs and outputs, and makes a data set of them.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { previewQuery, refreshData } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { Choice } from '../ui/labelled.tsx'
import { Failure } from '../ui/states.tsx'

export function MapColumns({ datasetId, done }: { datasetId: string; done: (id: string) => void }) {
  const columns = useQuery(previewQuery(datasetId)).data?.columns ?? []
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
      await refreshData()
    },
  })
  if (!mayStore || columns.length === 0) return null
  return (
    <fieldset>
      <legend>Map its columns</legend>
      <p className="quiet">Makes a data set of input and output from two columns of this file; the file stays.</p>
      <div className="filters">
        <Choice
          label="Inputs are in"
          value={input}
          values={['', ...columns]}
          textOf={(name) => name || 'no column: learn the outputs as whole texts'}
          onChange={setInput}
        />
        <Choice
          label="Outputs are in"
          value={output}
          values={['', ...columns]}
          textOf={(name) => name || 'choose a column'}
          onChange={setOutput}
        />
        <button type="button" disabled={output === '' || map.isPending} onClick={() => map.mutate()}>
          Map the columns
        </button>
      </div>
      {map.error && <Failure error={map.error} />}
    </fieldset>
  )
}
