// `npm run bench -- console-bytes`: what the list of 10,000 jobs downloads: its first page, an idle minute, a minute in which
// five jobs report, and the first row on a slow line. Bytes are those on the wire, with headers, as Chromium counts them.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { insertedJobs, reportEveryMs } from '../../../bench/inserted-job.ts'
import { createClient, startStack } from '../../../bench/stack.ts'
import { launch, openProfile } from './launch.ts'

const [jobCount, runningCount, minuteMs] = [10_000, 5, 60_000]
/** 1.6 Mbit/s with 150 ms, as Lighthouse throttles a phone. */
const slowLine = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }

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
  const { path } = await createClient(connection)<{ path: string }>('POST', '/v1/console/links', {})
  const context = await openProfile(browser, { viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  await page.goto(connection.apiUrl + path)
  const counted = await count(page)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await firstRow(page)
  say('sign-in and first page', counted.take())
  await sleep(minuteMs)
  say('a minute without an open job', counted.take())

  const slow = await context.newPage()
  const session = await slow.context().newCDPSession(slow)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', slowLine)
  const startedAt = performance.now()
  await slow.goto(`${connection.apiUrl}/console/jobs`, { waitUntil: 'commit' })
  await firstRow(slow)
  console.log(
    `  first row on a slow line, nothing cached, after ${((performance.now() - startedAt) / 1000).toFixed(2)} s`,
  )
  await slow.close()

  const running = await Promise.all(Array.from({ length: runningCount }, () => jobs.insertJob(1)))
  const seen = page.getByText('training model')
  await seen.nth(runningCount - 1).waitFor()
  counted.take()
  const until = performance.now() + minuteMs
  for (let step = 2; performance.now() < until; step++) {
    for (const id of running) await jobs.insertSteps(id, step, step)
    await sleep(reportEveryMs)
  }
  say(`a minute in which ${runningCount} jobs report`, counted.take())
}

function firstRow(page: Page) {
  return page.locator('tbody tr a').first().waitFor()
}

/** Counts from now on what the page receives. */
async function count(page: Page) {
  const session: CDPSession = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  let [bytes, requests] = [0, 0]
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
    requests++
  })
  return {
    take() {
      const taken = { bytes, requests }
      bytes = requests = 0
      return taken
    },
  }
}

function say(what: string, { bytes, requests }: { bytes: number; requests: number }) {
  console.log(`  ${what}: ${(bytes / 1000).toFixed(1)} kB in ${requests} requests`)
}
