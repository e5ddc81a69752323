// A browser for the tests of the console.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { root } from '../../../tools/paths.mjs'
import { connection, createApi } from '../../support/stack.ts'
import { launch, openProfile } from './launch.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const traces = join(root, '.cache/console-traces')

/** A browser profile of its own that has opened a sign-in link of this key. Collects what went wrong in its pages. */
export async function openConsole(browser: Browser, apiKey: string) {
  const context = await openProfile(browser, { viewport: { width: 1280, height: 900 } })
  await context.tracing.start({ screenshots: true, snapshots: true })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    // A refused request is no fault of the page; a refused script or style is.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
  page.on('dialog', (dialog) => problems.push(`a dialog said ${dialog.message()}`))
  const { path } = await createApi(apiKey).post<{ path: string }>('/v1/console/links')
  await page.goto(connection().apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  return { context, page, problems }
}

/** A browser with one such profile for all tests of a suite, which ends both. Keeps a trace when a test fails. */
export async function startConsole(apiKey: string) {
  const browser = await launch()
  const opened = await openConsole(browser, apiKey)
  let hasFailed = false
  afterEach((test) => {
    // @types/node 24 does not know the field.
    hasFailed ||= !(test as unknown as { passed: boolean }).passed
  })
  after(async () => {
    if (hasFailed) await keepTrace(opened.context)
    await browser.close()
  })
  return { browser, ...opened }
}

/** `npx playwright show-trace FILE` shows it. */
async function keepTrace(context: BrowserContext) {
  mkdirSync(traces, { recursive: true })
  const path = join(traces, `trace-${process.pid}.zip`)
  await context.tracing.stop({ path })
  console.log(`kept the trace ${path}`)
}

export const consoleUrl = (path: string) => `${connection().apiUrl}/console${path}`

type Violation = { id: string; nodes: { target: string[]; any: { message: string }[] }[] }

/** Only colours differ between the themes. */
const themes = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }
/** A small phone, where rows of tables are cards, and then a desktop computer again. */
const sizes = [
  { width: 360, height: 740 },
  { width: 1280, height: 900 },
]

/** Holds the page, narrow and wide, against the rules of axe-core in both themes, and against the width of the screen. */
export async function isAccessible(page: Page, where: string) {
  await page.evaluate(`${axe}; undefined`)
  for (const size of sizes) {
    await page.setViewportSize(size)
    // A curve is drawn again for its new width some frames later.
    await page.waitForFunction(`document.documentElement.scrollWidth <= ${size.width}`)
    for (const [theme, rules] of Object.entries(themes)) {
      await page.emulateMedia({ colorScheme: theme as keyof typeof themes })
      const run = `axe.run(${JSON.stringify(rules)}).then(({ violations }) => violations)`
      const violations: Violation[] = await page.evaluate(run)
      const found = violations.flatMap(({ id, nodes }) =>
        nodes.map(
          ({ target, any }) =>
            `${where}, ${size.width} pixels, ${theme}: ${id} at ${target.join(' ')}: ${any[0]?.message ?? ''}`,
        ),
      )
      assert.deepEqual(found, [])
    }
  }
}

/** Nothing is loading any more. */
export async function settled(page: Page) {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction('!/Loading /.test(document.body.textContent)')
}
