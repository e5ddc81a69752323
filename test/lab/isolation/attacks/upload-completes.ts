import type { Attack } from '../attack.ts'
import { completion, jobList } from '../probes.ts'
import { keepAsking } from './connections.ts'
import { openUpload } from './uploads.ts'

const connections = 16

export const uploadCompletes: Attack = {
  name: 'upload-completes',
  what: 'sixteen connections complete one upload of 96 MB, each time with its parts in another order and a wrong MD5',
  maxGrowthMb: { api: 400 },
  seconds: 40,
  prepare: openUpload,
  probes: (stage) => [completion(stage), jobList(stage)],
  async run({ prepared, signal, ask, underway }) {
    const { path = [], parts: ids = [] } = prepared
    underway()
    await keepAsking(connections, signal, (connection, turn) =>
      ask('POST', `${path[0]}/complete`, {
        part_ids: inOrder(ids, turn * connections + connection),
        md5: '0'.repeat(32),
      }),
    )
  },
  async check({ attacker }, { answers }) {
    const isRefused = answers.some(({ status }) => status === 400)
    const { status } = await attacker.ask('GET', '/v1/limits')
    return [
      ...(isRefused ? [] : ['No complete was answered.']),
      ...(status === 200 ? [] : ['The attacker is locked out.']),
    ]
  },
}

/** The permutation with this number. */
function inOrder(ids: readonly string[], number: number): string[] {
  const left = [...ids]
  let rest = number
  return ids.map(() => {
    const at = rest % left.length
    rest = Math.floor(rest / left.length)
    return left.splice(at, 1)[0] ?? ''
  })
}
