// `npm run bench -- console-bytes`: what the list of 10,000 jobs downloads: its first page, an idle minute, a minute in which
// five jobs report, and the first row on a slow line. Bytes are those on the wire, with headers, as Chromium counts them.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { insertedJobs, reportEveryMs } from '../../../bench/inserted-job.ts'
import { createClient, startStack } from '../../../bench/stack.ts'
import { launch, openProfile } from './launch.ts'

const [jobCount, runningCount, minuteMs, loads] = [10_000, 5, 60_000, 3]
/** 1.6 Mbit/s with 150 ms, as Lighthouse throttles a phone. */
const slowLine = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }
const profile = { viewport: { width: 1280, height: 900 } }

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
  await jobs.insertEndedJobs(jobCount)
  const context = await openProfile(browser, profile)
  const page = await context.newPage()
  const counted = await countBytes(page)
  await signIn(page)
  const first = counted.take()
  say('sign-in and the list', sumOf(first))
  say('of these, the answers of the list', sumOf(first.filter(({ url }) => url.includes('/v1/train/jobs/briefs'))))
  await sleep(minuteMs)
  const idle = counted.take()
  const isPart = ({ url }: Received) => url.includes('/console/assets/')
  say('the other pages, which the browser loads once in advance', sumOf(idle.filter(isPart)))
  say('a minute without an open job', sumOf(idle.filter((each) => !isPart(each))))
  await sayFirstRows(context)

  const running: number[] = []
  while (running.length < runningCount) running.push(await jobs.insertJob(1))
  await page
    .getByText('training model')
    .nth(runningCount - 1)
    .waitFor()
  counted.take()
  const until = performance.now() + minuteMs
  for (let step = 2; performance.now() < until; step++) {
    for (const id of running) await jobs.insertSteps(id, step, step)
    await sleep(reportEveryMs)
  }
  say(`a minute in which ${runningCount} jobs report`, sumOf(counted.take()))
}

async function signIn(page: Page) {
  const { path } = await createClient(connection)<{ path: string }>('POST', '/v1/console/links', {})
  await page.goto(connection.apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await firstRow(page)
}

function firstRow(page: Page) {
  return page.locator('tbody tr a').first().waitFor()
}

/** Each load is that of a browser that has never seen the console, but is signed in. */
async function sayFirstRows(signedIn: BrowserContext) {
  const storageState = await signedIn.storageState()
  const seconds: string[] = []
  while (seconds.length < loads) {
    const context = await openProfile(browser, { ...profile, storageState })
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.emulateNetworkConditions', slowLine)
    const startedAt = performance.now()
    await page.goto(`${connection.apiUrl}/console/jobs`, { waitUntil: 'commit' })
    await firstRow(page)
    seconds.push(((performance.now() - startedAt) / 1000).toFixed(2))
    await context.close()
  }
  console.log(`  first row on a line of 1.6 Mbit/s with 150 ms, nothing cached, after ${seconds.join(', ')} s`)
}

type Received = { url: string; bytes: number }

/** Counts from now on what the page receives. */
async function countBytes(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const urls = new Map<string, string>()
  let received: Received[] = []
  session.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url))
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    received.push({ url: urls.get(requestId) ?? '', bytes })
    urls.delete(requestId)
  })
  return {
    take() {
      const taken = received
      received = []
      return taken
    },
  }
}

function sumOf(received: readonly Received[]) {
  return { requests: received.length, bytes: received.reduce((sum, { bytes }) => sum + bytes, 0) }
}

function say(what: string, { bytes, requests }: { bytes: number; requests: number }) {
  console.log(`  ${what}: ${(bytes / 1000).toFixed(1)} kB in ${requests} requests`)
}
