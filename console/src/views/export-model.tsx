// The files of a tuned model: its adapter, or a whole model that is made in the background.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { useMay } from '../api/session.ts'
import type { components } from '../api/types.ts'
import { bytes } from '../domain/format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Answer, Failure } from '../ui/states.tsx'

type Files = components['schemas']['ModelExportFiles']

const againMs = 2000

export function ExportModel({ name, close }: { name: string; close: () => void }) {
  const mayTrain = useMay('training')
  const [format, setFormat] = useState<'adapter' | 'merged'>('adapter')
  const exported = useQuery<Files>({
    queryKey: ['export', name, format],
    staleTime: 60_000,
    refetchInterval: ({ state: { data } }) => ['QUEUED', 'RUNNING'].includes(data?.status ?? '') && againMs,
    queryFn: async ({ signal }) => {
      // A repeat gives the same export.
      const { id } = await api.POST('/v1/models/{name}/export', {
        params: { path: { name } },
        body: { format },
        signal,
      })
      const params = { path: { name, export_id: id } }
      return api.GET('/v1/models/{name}/exports/{export_id}', { params, signal })
    },
  })
  return (
    <Dialog title={format === 'adapter' ? 'Export the adapter' : 'Export the merged model'} close={close}>
      <Answer query={exported} what="the links">
        {({ files, status, message, expires_in: seconds }) =>
          status === 'FAILED' ? (
            <Failure error={message} />
          ) : files.length === 0 ? (
            <p role="status">The files are being made. This goes on when the dialog is closed.</p>
          ) : (
            <>
              <ul>
                {files.map(({ name: file, url, size_bytes: size }) => (
                  <li key={file}>
                    <a href={url} download={file}>
                      {file}
                    </a>{' '}
                    <span className="quiet">{bytes(size)}</span>
                  </li>
                ))}
              </ul>
              <p className="quiet">The links work for {Math.round(seconds / 60)} minutes.</p>
            </>
          )
        }
      </Answer>
      {format === 'adapter' && mayTrain && (
        <p>
          <button type="button" onClick={() => setFormat('merged')}>
            Merge it into its base
          </button>{' '}
          <span className="quiet">makes a whole model that needs no adapter, in the background</span>
        </p>
      )}
      <div className="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
