import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { noAnswer, readAnswer, type Answer } from '../accounts.ts'
import type { Attack, Attacker, Stage } from '../attack.ts'
import { completion, jobList } from '../probes.ts'
import { keepAsking } from './connections.ts'
import { openUpload } from './uploads.ts'

const connections = 64

export const fileDownloads: Attack = {
  name: 'file-downloads',
  what: '64 connections download a file of 96 MB again and again',
  maxGrowthMb: { api: 400 },
  seconds: 40,
  prepare: openFile,
  probes: (stage) => [completion(stage), jobList(stage)],
  async run(attacker) {
    attacker.underway()
    await keepAsking(connections, attacker.signal, async () => {
      const answer = await download(attacker)
      attacker.count(answer)
      return answer
    })
  },
}

async function openFile(stage: Stage) {
  const { path, parts } = await openUpload(stage)
  const { status, body } = await stage.attacker.ask('POST', `${path[0]}/complete`, { part_ids: parts })
  if (status !== 200) throw new Error(`The complete was answered ${status}.`)
  return { file: [(body as { file: { id: string } }).file.id] }
}

async function download({ apiUrl, apiKey, prepared, signal }: Attacker): Promise<Answer> {
  const url = `${apiUrl}/openai/v1/files/${prepared['file']?.[0]}/content`
  const outgoing = get(url, { headers: { authorization: `Bearer ${apiKey}` }, signal, agent: false })
  try {
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    incoming.resume()
    await once(incoming, 'end')
    return readAnswer(incoming.statusCode ?? 0, incoming.headers['retry-after'] ?? null, '')
  } catch (error) {
    return signal.aborted ? noAnswer('given_up') : noAnswer('no_answer', String(error))
  }
}
