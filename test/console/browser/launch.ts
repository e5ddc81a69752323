import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { findChromium } from '../../../tools/setup/chromium.mjs'
import { patienceMs } from '../../support/eventually.ts'

export async function launch(): Promise<Browser> {
  const { path, env } = await findChromium()
  const kept = Object.fromEntries(
    Object.entries({ ...process.env, ...env }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  // In the locale C it calls its language en-US@posix, which Intl refuses and the pages must bear.
  const environment = { ...kept, LC_ALL: 'C' }
  return chromium.launch({ executablePath: path, env: environment, args: ['--no-sandbox'], timeout: patienceMs })
}

/** A profile of its own. Its pages wait longer than the 30 s of Playwright, which a busy machine needs for one page. */
export async function openProfile(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(patienceMs)
  return context
}
