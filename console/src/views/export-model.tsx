// The files of a tuned model: its adapter, or a whole model that is made in the background.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { exportQuery } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { bytes } from '../domain/format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Answer, Failure } from '../ui/states.tsx'

export function ExportModel({ name, close }: { name: string; close: () => void }) {
  const mayTrain = useMay('training')
  const [format, setFormat] = useState<'adapter' | 'merged'>('adapter')
  const exported = useQuery(exportQuery(name, format))
  return (
    <Dialog title={format === 'adapter' ? 'Export the adapter' : 'Export the merged model'} close={close}>
      <Answer query={exported} what="the links">
        {({ files, status, message, expires_in: seconds }) =>
          status === 'FAILED' ? (
            <Failure error={message} />
          ) : files.length === 0 ? (
            <p role="status">{message ?? 'The files are being made.'} This goes on when the dialog is closed.</p>
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
