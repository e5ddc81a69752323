import { UsageError } from './usage-error.ts'
import type { Client } from './remote/client.ts'
import { eachChange } from './remote/each-change.ts'
import { queryOf } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'

type Log = { attempt: number; text: string; next_offset: number; complete: boolean }

export const logs = serviceCommand({
  usage: `ID [--attempt N] [--follow]

  --attempt N   the log of this attempt (default: the newest)
  -f, --follow  print new lines, also of later attempts, until the job has ended`,
  options: { attempt: { type: 'string' }, follow: { type: 'boolean', short: 'f' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { attempt, follow = false, output }, print }) {
    const path = encodeURIComponent(id)
    if (follow && output !== 'table') throw new UsageError('--follow prints text only: leave --output and --json out.')
    if (follow) await followLogs(client, path, attempt)
    else if (output === 'table') await writeOne(client, path, { attempt, offset: 0 })
    else print(await client.get<Log>(logPath(path, { attempt })), () => '')
    return 0
  },
})

const logPath = (id: string, query: { attempt?: string | undefined; offset?: string }) =>
  `/v1/train/jobs/${id}/logs${queryOf(query)}`

/** `attempt`: undefined for the newest. */
type Position = { attempt: string | undefined; offset: number }

/** Prints what there is now of one attempt. @returns where to go on, and whether nothing more will be added */
async function writeOne(client: Client, id: string, { attempt, offset }: Position) {
  for (let from = { attempt, offset }; ;) {
    const piece = await client.get<Log>(logPath(id, { attempt: from.attempt, offset: String(from.offset) }))
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
    if (!isComplete || (await client.get<Log>(logPath(id, {}))).attempt <= number) return reached
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
