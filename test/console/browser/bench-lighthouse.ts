// `npm run bench -- lighthouse [--mobile]`: Lighthouse's marks for the pages of the console: for a desktop computer, or for a
// phone on a line of 1.6 Mbit/s, both computed from a load over loopback. npx fetches Lighthouse, which is no dependency: it
// would double the packages of the tests.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { insertedJobs } from '../../../bench/inserted-job.ts'
import { createClient, startStack } from '../../../bench/stack.ts'
import { findChromium } from '../../../tools/setup/chromium.mjs'
import { launch, openProfile } from './launch.ts'

const version = '13.5.0'
const categories = ['performance', 'accessibility', 'best-practices'] as const
const steps = 1000
const { values } = parseArgs({ options: { mobile: { type: 'boolean', default: false } } })
/** A phone is Lighthouse's own default. */
const device = values.mobile ? [] : ['--preset=desktop']

type Marks = {
  categories: Record<(typeof categories)[number], { score: number | null }>
  audits: { 'largest-contentful-paint': { numericValue: number } }
}

const { path: chromium, env } = await findChromium()
const folder = mkdtempSync(join(tmpdir(), 'anneal-lighthouse-'))
const stack = await startStack()
const { connection } = stack
const jobs = await insertedJobs(connection)
try {
  await measure()
} finally {
  await jobs.end()
  await stack.stop()
  rmSync(folder, { recursive: true })
}

async function measure() {
  const jobId = await jobs.insertJob(steps)
  const cookie = await sessionCookie()
  await say('sign-in', `${connection.apiUrl}/console/`, '')
  for (const path of ['/jobs', `/jobs/${jobId}`, '/new', '/playground', '/settings'])
    await say(path, `${connection.apiUrl}/console${path}`, cookie)
  await say('operators', `${connection.adminUrl}/console`, '')
}

async function sessionCookie(): Promise<string> {
  const browser = await launch()
  const context = await openProfile(browser)
  const { path } = await createClient(connection)<{ path: string }>('POST', '/v1/console/links', {})
  const page = await context.newPage()
  await page.goto(connection.apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  const cookies = await context.cookies()
  await browser.close()
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
}

async function say(name: string, url: string, cookie: string) {
  const output = join(folder, 'marks.json')
  const args = [
    ...['--yes', `lighthouse@${version}`, url, '--quiet', ...device, `--only-categories=${categories.join()}`],
    ...['--output=json', `--output-path=${output}`, '--chrome-flags=--headless=new --no-sandbox'],
    ...(cookie === '' ? [] : ['--extra-headers', JSON.stringify({ Cookie: cookie })]),
  ]
  const run = () =>
    promisify(execFile)('npx', args, { cwd: folder, env: { ...process.env, ...env, CHROME_PATH: chromium } })
  // Now and then a trace of Chromium lacks the start of the page (NO_NAVSTART).
  await run().catch(run)
  const marks = JSON.parse(readFileSync(output, 'utf8')) as Marks
  const scores = categories.map((each) => `${each} ${Math.round(100 * (marks.categories[each].score ?? 0))}`)
  const paintMs = marks.audits['largest-contentful-paint'].numericValue
  console.log(`  ${name.padEnd(12)} ${scores.join(', ')}; largest contentful paint ${(paintMs / 1000).toFixed(1)} s`)
}
