import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { refreshData } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { uploadFile, type Uploaded } from '../api/upload.ts'
import { bytes, percent } from '../domain/format.ts'
import { Failure } from '../ui/states.tsx'
import { Progress } from '../ui/text.tsx'

/** Takes a file by choice or by drag and drop, and uploads it at once. Nothing for a key that may not. */
export function Upload({ done }: { done: (file: Uploaded) => void }) {
  const mayStore = useMay('data')
  const [isOver, setOver] = useState(false)
  const [share, setShare] = useState(0)
  const stop = useRef<AbortController>(null)
  const upload = useMutation({
    mutationFn: (file: File) => {
      setShare(0)
      stop.current = new AbortController()
      return uploadFile(file, setShare, stop.current.signal)
    },
    onSuccess: (file) => {
      void refreshData()
      done(file)
    },
  })
  useEffect(() => () => stop.current?.abort(), [])
  const take = (files: FileList | null) => files?.[0] && upload.mutate(files[0])
  const isStopped = upload.error instanceof DOMException
  if (!mayStore) return null
  return (
    <div
      className={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer.files)
      }}
    >
      <label htmlFor="file">Upload a file, or drop it here</label>
      <p>
        <input
          id="file"
          type="file"
          accept=".jsonl,.json,.csv,.gz,.txt"
          disabled={upload.isPending}
          onChange={(event) => take(event.target.files)}
        />
      </p>
      <p className="quiet">
        Questions with answers, conversations or texts, as JSON Lines, a JSON array or CSV, gzipped or not; up to 8 GB.
      </p>
      {upload.isPending && (
        <p>
          <Progress
            share={share}
            label={share < 1 ? `${percent(share)} of ${bytes(upload.variables.size)}` : 'stored; one moment'}
          />{' '}
          <button type="button" onClick={() => stop.current?.abort()}>
            Stop
          </button>
        </p>
      )}
      {upload.error && !isStopped && <Failure error={upload.error} />}
    </div>
  )
}
