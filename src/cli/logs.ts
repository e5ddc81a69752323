import type { Client } from './remote/client.ts'
import { eachChange } from './remote/each-change.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { UsageError } from './usage-error.ts'

export const command = serviceVerb({
  takes: { ID: '' },
  options: {
    attempt: { value: 'N', says: 'the log of this attempt (default: the newest)' },
    follow: { short: 'f', says: 'print new lines, also of later attempts, until the job has ended' },
  },
  async run({ client, args: [id = ''], values: { attempt, follow }, isJson, print }) {
    if (follow && isJson) throw new UsageError('--follow prints text only: leave --output and --json out.')
    if (follow) await followLogs(client, id, attempt)
    else if (isJson) print(await readLog(client, id, { attempt }), () => '')
    else await writeOne(client, id, { attempt, offset: 0 })
  },
})

const readLog = (client: Client, id: string, query: { attempt?: string | undefined; offset?: string } = {}) =>
  client.get('/v1/train/jobs/:job_id/logs', { params: { job_id: id }, query })

/** `attempt`: undefined for the newest. */
type Position = { attempt: string | undefined; offset: number }

/** Prints what there is now of one attempt. @returns where to go on, and whether nothing more will be added */
async function writeOne(client: Client, id: string, { attempt, offset }: Position) {
  for (let from = { attempt, offset }; ;) {
    const piece = await readLog(client, id, { attempt: from.attempt, offset: String(from.offset) })
    process.stdout.write(piece.text)
    const isAtEnd = piece.next_offset === from.offset
    // 0 stands for no attempt yet.
    from = { attempt: piece.attempt === 0 ? undefined : String(piece.attempt), offset: piece.next_offset }
    if (isAtEnd) return { ...from, number: piece.attempt, isComplete: piece.complete }
  }
}

/** Prints what there is now of this attempt and of later ones. */
async function writeNew(client: Client, id: string, begin: Position): Promise<Position> {
  for (let position = begin; ;) {
    const { number, isComplete, ...reached } = await writeOne(client, id, position)
    if (!isComplete || (await readLog(client, id)).attempt <= number) return reached
    position = { attempt: String(number + 1), offset: 0 }
    console.error(`Attempt ${number + 1}:`)
  }
}

/** The stream of the job says when there may be more; the log comes from its own route, which has all of it. */
async function followLogs(client: Client, id: string, attempt: string | undefined): Promise<void> {
  let position: Position = { attempt, offset: 0 }
  await eachChange(client, id, async () => {
    position = await writeNew(client, id, position)
  })
}
