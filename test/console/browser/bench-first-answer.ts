// `npm run bench -- first-answer`: what a new user does from `npm start` to an answer of a model tuned in the console. Prints
// the clicks and the seconds, and keeps a picture of each step in docs/console. A person's time to read and to type is not in it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Locator } from 'playwright-core'
import { makeHome } from '../../../bench/stack.ts'
import { root } from '../../../tools/paths.mjs'
import { sampleRows } from '../../support/rows.ts'
import { stopArguments } from '../../support/services.ts'
import { launch, openProfile } from './launch.ts'

const folder = join(root, 'docs/console')
const file = join(root, 'models/samples/products.jsonl')
const { input: question = '', output: expected = '' } = sampleRows[0] ?? {}

const browser = await launch()
const page = await (await openProfile(browser, { viewport: { width: 1100, height: 720 } })).newPage()
const home = makeHome()
const startedAt = performance.now()
let clicks = 0
let typed = 0
let shown = 0

const click = async (target: Locator) => {
  clicks++
  await target.click()
}
const type = async (target: Locator, text: string) => {
  typed++
  await target.fill(text)
}

/** Says how far the user is, and keeps a picture. */
async function see(what: string, name: string) {
  const seconds = (performance.now() - startedAt) / 1000
  console.log(`  ${seconds.toFixed(1).padStart(6)} s, ${clicks} clicks: ${what}`)
  await page.screenshot({ path: join(folder, `first-answer-${++shown}-${name}.png`), fullPage: true })
}

/** Runs the command of a new user. @returns the link that it prints */
async function npmStart(): Promise<string> {
  const npm = spawn('npm', ['start', '--', '--home', home, '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(npm, 'exit').then(() => Promise.reject(new Error('npm start ended')))
  const link = new Promise<string>((resolve) =>
    createInterface({ input: npm.stdout }).on('line', (line) => {
      const [, found] = /Console\s+(http\S+)/.exec(line) ?? []
      if (found) resolve(found)
    }),
  )
  ended.catch(() => undefined)
  return Promise.race([link, ended])
}

try {
  const link = await npmStart()
  console.log(`  ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s, 0 clicks: the link is printed`)
  clicks++
  await page.goto(link)
  await click(page.getByRole('button', { name: 'Sign in with the link' }))
  await page.getByText('No job yet').waitFor()
  await see('the console is open, signed in', 'jobs')

  await click(page.getByRole('link', { name: 'Start the first one' }))
  clicks++
  await page.getByLabel('Upload a file, or drop it here').setInputFiles(file)
  await page.getByText('Every row can be read').waitFor()
  await type(page.getByLabel('Name of the tuned model'), 'products-bot')
  await page
    .getByRole('status')
    .filter({ hasText: /\d+ rows, \d+ steps/ })
    .waitFor()
  await see('the file is checked', 'new-job')

  await click(page.getByRole('button', { name: 'Start training' }))
  await page.getByRole('region', { name: 'Curve' }).waitFor()
  await see('the first step of the training is drawn', 'training')
  await page.getByRole('link', { name: 'Ask the model' }).waitFor()
  await page.getByText('Exactly as expected').waitFor()
  await see('the model is tuned, and its answers stand beside those of its base', 'tuned')

  await click(page.getByRole('link', { name: 'Ask the model' }))
  await type(page.getByLabel('Prompt', { exact: true }), question)
  await click(page.getByRole('button', { name: 'Ask', exact: true }))
  const tuned = page.getByRole('article').first()
  await tuned.getByText(/ tokens, .* in the prompt/).waitFor()
  await see('the tuned model has answered', 'answer')
  console.log(`${clicks} clicks, ${typed} texts typed. Question: ${question}`)
  console.log(`Expected: ${expected}`)
  console.log(`Answer:   ${(await tuned.locator('p.text').textContent()) ?? ''}`)
} finally {
  await browser.close()
  spawnSync(process.execPath, stopArguments(home), { cwd: root, stdio: 'inherit' })
  rmSync(home, { recursive: true, force: true })
}
