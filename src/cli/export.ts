import { resolve } from 'node:path'
import { invocationDir } from '../../tools/paths.mjs'
import { exportAccount } from './remote/moving/export-account.ts'
import { serviceVerb } from './remote/remote-verb.ts'

export const command = serviceVerb({
  takes: { DIR: 'the folder to write to; a repeat fetches only what is new' },
  async run({ client, args: [dir = ''], print, isJson, signal }) {
    const folder = resolve(invocationDir, dir)
    const say = (line: string) => (isJson ? undefined : console.error(line))
    const manifest = await exportAccount({ client, folder, say, signal })
    const { counts, not_moved: left } = manifest
    print({ folder, counts, not_moved: left }, () =>
      [
        `In ${folder}: ${counts.job} jobs, ${counts.models} models, ${counts.data} versions of data sets, ${counts.alias} aliases, ${counts.eval} evals.`,
        'Not exported:',
        ...left.map((each) => `- ${each}`),
      ].join('\n'),
    )
  },
})
