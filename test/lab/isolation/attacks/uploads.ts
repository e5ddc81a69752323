// An upload of 96 MB whose parts are there.
import { randomBytes } from 'node:crypto'
import { readAnswer, type Answer } from '../accounts.ts'
import type { Attacker, Stage } from '../attack.ts'

const parts = 8
const partBytes = 12 * 1024 * 1024

export async function openUpload({ connection, attacker }: Stage) {
  const head = { filename: 'large.jsonl', purpose: 'batch', mime_type: 'application/jsonl', bytes: parts * partBytes }
  const path = `/openai/v1/uploads/${idOf(await attacker.ask('POST', '/openai/v1/uploads', head))}`
  const ids: string[] = []
  for (let part = 0; part < parts; part++)
    ids.push(idOf(await sendPart(`${connection.apiUrl}${path}/parts`, attacker.apiKey)))
  return { path: [path], parts: ids }
}

async function sendPart(url: string, apiKey: Attacker['apiKey']): Promise<Answer> {
  const body = new FormData()
  body.set('data', new Blob([randomBytes(partBytes)]), 'part')
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${apiKey}` }, body })
  return readAnswer(response.status, response.headers.get('retry-after'), await response.text())
}

function idOf({ status, detail, body }: Answer): string {
  if (status !== 200) throw new Error(`The upload was answered ${status}: ${detail}`)
  return (body as { id: string }).id
}
