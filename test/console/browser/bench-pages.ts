// `npm run bench -- console-pages`: the first load of the list with 10,000 jobs, and a job of 100,000 steps: the time until its
// curve is drawn, and the frames while it is zoomed, as Chromium's trace has them. The jobs are rows of the database.
import type { BrowserContext, Page } from 'playwright-core'
import { insertedJobs } from '../../../bench/inserted-job.ts'
import { createClient, quantile, startStack } from '../../../bench/stack.ts'
import { launch, openProfile } from './launch.ts'

const [jobCount, stepCount, loads, zooms] = [10_000, 100_000, 5, 5]
const frameCategory = 'disabled-by-default-devtools.timeline.frame'

const stack = await startStack()
const { connection } = stack
const jobs = await insertedJobs(connection)
const browser = await launch()
try {
  await measure()
} finally {
  await browser.close()
  await jobs.end()
  await stack.stop()
}

async function measure() {
  const context = await signedIn()
  await jobs.insertEndedJobs(jobCount)
  const lists = await inTurn(loads, () =>
    seconds(context, '/jobs', (page) => page.locator('tbody tr a').first().waitFor()),
  )
  say(`${jobCount} jobs: first row`, lists)
  const jobId = await jobs.insertJob(stepCount)
  const drawn = (page: Page) => page.getByRole('slider', { name: new RegExp(`over ${stepCount} points`) }).waitFor()
  say(`a job of ${stepCount} steps: curve`, await inTurn(loads, () => seconds(context, `/jobs/${jobId}`, drawn)))
  const page = await context.newPage()
  await page.goto(`${connection.apiUrl}/console/jobs/${jobId}`)
  await drawn(page)
  await sayFrames(page)
}

async function signedIn(): Promise<BrowserContext> {
  const context = await openProfile(browser, { viewport: { width: 1280, height: 900 } })
  const { path } = await createClient(connection)<{ path: string }>('POST', '/v1/console/links', {})
  const page = await context.newPage()
  await page.goto(connection.apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  await page.close()
  return context
}

async function inTurn<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const found: T[] = []
  while (found.length < count) found.push(await work())
  return found
}

/** From the navigation until the page is as wanted. */
async function seconds(context: BrowserContext, path: string, wanted: (page: Page) => Promise<void>): Promise<number> {
  const page = await context.newPage()
  const startedAt = performance.now()
  await page.goto(`${connection.apiUrl}/console${path}`, { waitUntil: 'commit' })
  await wanted(page)
  const taken = (performance.now() - startedAt) / 1000
  await page.close()
  return taken
}

function say(what: string, values: number[]) {
  console.log(`  ${what} after ${values.map((value) => value.toFixed(2)).join(', ')} s`)
}

/** Drags over the middle of the curve, and shows all of it again by a double click. */
async function zoom(page: Page) {
  const box = await page.locator('.chart .u-over').boundingBox()
  if (!box) throw new Error('there is no curve')
  const [y, from, to] = [box.y + box.height / 2, box.x + box.width * 0.3, box.x + box.width * 0.6]
  await page.mouse.move(from, y)
  await page.mouse.down()
  await page.mouse.move(to, y, { steps: 30 })
  await page.mouse.up()
  await page.mouse.dblclick((from + to) / 2, y)
}

type TraceEvent = { name: string; ts: number }

/** The times between the frames that were drawn, pauses of the hand included: no frame is left out. */
async function sayFrames(page: Page) {
  await browser.startTracing(page, { categories: [frameCategory] })
  for (let turn = 0; turn < zooms; turn++) await zoom(page)
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  const drawnAt = traceEvents
    .flatMap(({ name, ts }) => (name === 'DrawFrame' ? [ts / 1000] : []))
    .toSorted((a, b) => a - b)
  const between = drawnAt.slice(1).map((at, index) => at - (drawnAt[index] ?? at))
  const ms = (share: number) => `${quantile(between, share).toFixed(0)} ms`
  console.log(
    `  ${zooms} zooms: ${between.length} frames, ${ms(0.5)} at the median, ${ms(0.95)} at the 95th percentile, ${ms(1)} at most`,
  )
}
