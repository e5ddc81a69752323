import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/paths.mjs'

const folder = join(root, 'src/config')
const code = readdirSync(folder)
  .map((file) => readFileSync(join(folder, file), 'utf8'))
  .join('\n')
/** Read for the code by @temporalio/envconfig. */
const ofTemporal = /^TEMPORAL_(ADDRESS|NAMESPACE|API_KEY|TLS(_\w+)?)$/

export const isKnownSetting = (name: string) => ofTemporal.test(name) || new RegExp(`^  ${name}: `, 'm').test(code)
