// Uploads a file of rows through the service, with progress. The file's id is also the id of its data set.
import { noteAnswer } from './connection.ts'
import { ApiError, NoAnswer, problemOf } from './errors.ts'
import { currentSession } from './session.ts'

export type Uploaded = { id: string; filename: string; bytes: number }

/** `fetch` does not tell how far an upload is. @throws ApiError, NoAnswer */
export function uploadFile(file: File, onProgress: (share: number) => void, signal: AbortSignal): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const form = new FormData()
    form.set('purpose', 'fine-tune')
    form.set('file', file)
    const request = new XMLHttpRequest()
    request.open('POST', '/openai/v1/files')
    request.setRequestHeader('X-Console-Token', currentSession()?.pageToken ?? '')
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      if (request.status === 200) return resolve(request.response as Uploaded)
      reject(new ApiError(problemOf(request.status, request.response)))
    }
    request.onerror = () => {
      noteAnswer(false)
      reject(new NoAnswer('upload'))
    }
    request.onabort = () => reject(new DOMException('The upload was stopped.', 'AbortError'))
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}
