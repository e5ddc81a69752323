import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/paths.mjs'

const code = readFileSync(join(root, 'src/config.ts'), 'utf8')
/** Read for the code by @temporalio/envconfig. */
const ofTemporal = /^TEMPORAL_(ADDRESS|NAMESPACE|API_KEY|TLS(_\w+)?)$/

export const isKnownSetting = (name: string) => ofTemporal.test(name) || new RegExp(`^  ${name}: `, 'm').test(code)
