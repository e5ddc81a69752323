import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/paths.mjs'

const folder = join(import.meta.dirname, 'histories')

export function writeHistory(name: string, history: Parameters<typeof historyToJSON>[0]) {
  mkdirSync(folder, { recursive: true })
  // Stack traces name files of the machine that recorded them.
  writeFileSync(join(folder, `${name}.json`), `${historyToJSON(history).replaceAll(`${root}/`, '')}\n`)
  console.log(`${name}: ${history.events?.length} events`)
}
