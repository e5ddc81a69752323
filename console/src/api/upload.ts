// Uploads a file of rows in parts, with progress. A part without an answer is sent again. A file whose upload was cut off goes
// on after its last stored part when it is chosen again in the same tab. The file's id is also the id of its data set.
import { api } from './client.ts'
import { noteAnswer } from './connection.ts'
import { ApiError, isOutage, NoAnswer, problemOf } from './errors.ts'
import { currentSession, onSessionChange } from './session.ts'

export type Uploaded = { id: string }

const partBytes = 16 * 1024 * 1024
const againMs = 1000
const storageKey = 'anneal-upload'

/** An upload that has begun: its file, its id, and its stored parts in the order of the file. */
type Begun = { file: string; id: string; parts: string[] }

// An upload of one account is no business of the next.
onSessionChange(() => sessionStorage.removeItem(storageKey))

/** Ends with the session that began it. @throws ApiError, DOMException when `stopped` is aborted or the session ends */
export async function uploadFile(file: File, onProgress: (share: number) => void, stopped: AbortSignal) {
  const session = new AbortController()
  const off = onSessionChange(() => session.abort())
  const signal = AbortSignal.any([stopped, session.signal])
  try {
    return await uploadParts(file, onProgress, signal)
  } catch (error) {
    // The service keeps an upload that is not completed for an hour.
    if (!(error instanceof ApiError) || ![404, 409].includes(error.status)) throw error
    sessionStorage.removeItem(storageKey)
    return await uploadParts(file, onProgress, signal)
  } finally {
    off()
  }
}

async function uploadParts(file: File, onProgress: (share: number) => void, signal: AbortSignal): Promise<Uploaded> {
  const { name, size, lastModified } = file
  const identity = JSON.stringify([name, size, lastModified])
  const body = { filename: name, bytes: size, purpose: 'fine-tune' as const, mime_type: 'application/jsonl' }
  const kept = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as Partial<Begun>
  const begin = async () => ({ id: (await api.POST('/openai/v1/uploads', { body, signal })).id, parts: [] })
  const { id, parts }: Pick<Begun, 'id' | 'parts'> =
    kept.file === identity ? (kept as Begun) : await untilAnswered(begin, signal)
  for (let from = parts.length * partBytes; from < size; from += partBytes) {
    const part = file.slice(from, from + partBytes)
    const send = () => sendPart(id, part, (loaded) => onProgress((from + loaded * part.size) / size), signal)
    parts.push((await untilAnswered(send, signal)).id)
    sessionStorage.setItem(storageKey, JSON.stringify({ file: identity, id, parts } satisfies Begun))
  }
  onProgress(1)
  const params = { path: { upload_id: id } }
  const complete = () =>
    api.POST('/openai/v1/uploads/{upload_id}/complete', { params, body: { part_ids: parts }, signal })
  const { file: stored } = await untilAnswered(complete, signal)
  sessionStorage.removeItem(storageKey)
  return stored as Uploaded
}

async function untilAnswered<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted || !isOutage(error)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }
}

/** `fetch` does not tell how far an upload is. */
function sendPart(id: string, part: Blob, onProgress: (share: number) => void, signal: AbortSignal): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const stopped = () => reject(new DOMException('The upload was stopped.', 'AbortError'))
    if (signal.aborted) return stopped()
    const form = new FormData()
    form.set('data', part)
    const request = new XMLHttpRequest()
    request.open('POST', `/openai/v1/uploads/${id}/parts`)
    request.setRequestHeader('X-Console-Token', currentSession()?.pageToken ?? '')
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      noteAnswer(true)
      if (request.status === 200) return resolve(request.response as Uploaded)
      reject(new ApiError(problemOf(request.status, request.response)))
    }
    request.onerror = () => {
      noteAnswer(false)
      reject(new NoAnswer('upload'))
    }
    request.onabort = stopped
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}
