import { resolve } from 'node:path'
import { invocationDir } from '../../tools/paths.mjs'
import { readManifest } from './remote/moving/archive.ts'
import { importAccount, type Moved } from './remote/moving/import-account.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

export const command = serviceVerb({
  takes: { DIR: 'a folder of anneal export' },
  async run({ client, args: [dir = ''], print, isJson, signal }) {
    const folder = resolve(invocationDir, dir)
    const manifest = readManifest(folder)
    const say = (line: string) => (isJson ? undefined : console.error(line))
    const moved = await importAccount({ client, folder, manifest, say, signal })
    print(moved, () => summary(moved))
  },
})

function summary({ imported, there, ids, not_moved: notMoved }: Moved): string {
  const changed = ids.filter(({ old, new: now }) => old !== now)
  return [
    `${imported} pieces imported, ${there} were there before.`,
    ...(changed.length > 0
      ? [
          'Ids that are other ones here (all are in import.json):',
          table(
            ['KIND', 'OLD', 'NEW'],
            changed.map((id) => [id.kind, id.old, id.new]),
          ),
        ]
      : []),
    'Not imported:',
    ...notMoved.map((each) => `- ${each}`),
  ].join('\n')
}
