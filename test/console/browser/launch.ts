import { chromium, type Browser } from 'playwright-core'
import { findChromium } from '../../../tools/setup/chromium.mjs'

export async function launch(): Promise<Browser> {
  const { path, env } = await findChromium()
  const kept = Object.fromEntries(
    Object.entries({ ...process.env, ...env }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  // In the locale C it calls its language en-US@posix, which Intl refuses and the pages must bear.
  return chromium.launch({ executablePath: path, env: { ...kept, LC_ALL: 'C' }, args: ['--no-sandbox'] })
}
