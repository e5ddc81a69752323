// `npm run console:pictures`: pictures of every page of the console in both themes, in docs/console.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { root } from '../../../tools/paths.mjs'
import { eventually, patienceMs } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { sampleFile, sampleRows, shortRun } from '../../support/rows.ts'
import { connection, createApi, type Api } from '../../support/stack.ts'
import { consoleUrl } from './browser.ts'
import { launch, openProfile } from './launch.ts'

const folder = join(root, 'docs/console')
/** Wide enough for every column. The page is asked whether it still loads, which its policy would refuse. */
const profile = { viewport: { width: 1280, height: 800 }, bypassCSP: true }
const themes = ['light', 'dark'] as const

suite('pictures of the console', { timeout: patienceMs }, () => {
  test('every page is drawn in both themes', async () => {
    mkdirSync(folder, { recursive: true })
    const account = await createOperator().openAccount()
    const { key } = await account.makeKey(['inference', 'training', 'data', 'read', 'admin'], { name: 'laptop' })
    const api = createApi(key)
    const jobs = await train(api)
    const browser = await launch()
    try {
      const context = await signedIn(browser, api)
      for (const [name, path, prepare] of views(jobs)) await draw(context, { name, path: consoleUrl(path), prepare })
      const outside = await openProfile(browser, profile)
      await draw(outside, { name: 'sign-in', path: consoleUrl('/') })
      await draw(outside, { name: 'operators', path: `${connection().adminUrl}/console`, prepare: enterToken })
    } finally {
      await browser.close()
    }
  })
})

type Jobs = { first: number; second: number; evaluation: string }

/** A model whose answers make sense, for the playground. */
const talking = { base: 'smollm2', tuned: 'products-chat' }
const questionOf = ({ input }: { input: string }) => input.replace('Question: ', '').replace('\nAnswer: ', '')
const conversations = sampleRows.map((row) => ({
  messages: [
    { role: 'user', content: questionOf(row) },
    { role: 'assistant', content: row.output },
  ],
}))
type Prepare = (page: Page) => Promise<void>

/** Two versions of one model. The first was cancelled and resumed, so that its curve is made of two attempts. */
async function train(api: Api): Promise<Jobs> {
  await api.upload('products', sampleFile)
  await api.post('/v1/webhooks', { url: 'https://example.com/hooks', description: 'our chat room' })
  const submit = (args: object) =>
    api.train({
      dataset_id: 'products',
      custom_model_name: 'products-bot',
      eval_data: sampleRows.slice(0, 10),
      finetune_args: { ...shortRun, max_steps: 120, ...args },
    })
  const first = await submit({})
  await eventually(async () => (await api.history(first)).length > 3)
  await api.post(`/v1/train/jobs/${first}/cancel`)
  await api.untilStatus(first, 'CANCELLED')
  await api.post(`/v1/train/jobs/${first}/resume`)
  const second = await submit({ learning_rate: 0.0003 })
  await api.upload('conversations', conversations.map((each) => JSON.stringify(each)).join('\n'))
  const chat = await api.train({
    model_name: talking.base,
    dataset_id: 'conversations',
    custom_model_name: talking.tuned,
    finetune_args: { max_steps: 40 },
    evaluation: { max_rows: 4 },
  })
  for (const id of [first, second, chat]) await api.untilStatus(id, 'COMPLETED')
  return { first, second, evaluation: await evaluate(api) }
}

/** The two versions beside their base. */
async function evaluate(api: Api): Promise<string> {
  const { id } = await api.post<{ id: string }>('/v1/evaluations', {
    models: [connection().baseModel, 'products-bot@1', 'products-bot@2'],
    dataset_id: 'products',
    max_rows: 20,
  })
  await eventually(async () => (await api.get<{ status: string }>(`/v1/evaluations/${id}`)).status === 'COMPLETED')
  return id
}

const views = ({ first, second, evaluation }: Jobs): [name: string, path: string, prepare?: Prepare][] => [
  ['jobs', '/jobs', (page) => page.locator('tr:has(.spark)').nth(1).waitFor()],
  ['job', `/jobs/${first}`],
  [
    'attempts',
    `/jobs/${first}?tab=attempts`,
    (page) => page.getByText('attempts', { exact: true }).scrollIntoViewIfNeeded(),
  ],
  ['compare', `/compare?jobs=${first},${second}`],
  ['new-job', '/new?data=products'],
  ['data', '/data'],
  ['data-set', '/data/products'],
  ['models', '/models'],
  ['model', '/models/products-bot'],
  ['playground', `/playground?models=${talking.base},${talking.tuned}&chat=1`, ask],
  ['evaluations', '/evaluations'],
  ['evaluation', `/evaluations/${evaluation}`],
  ['usage', '/usage'],
  ['settings', '/settings'],
  ['audit', '/settings?tab=audit&group=day'],
]

async function ask(page: Page) {
  await page.getByLabel('Prompt', { exact: true }).fill(sampleRows[0] ? questionOf(sampleRows[0]) : '')
  await page.getByLabel('Temperature').fill('0')
  await page.getByLabel('Max tokens').fill('48')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  for (const answer of await page.getByRole('article').all())
    await answer.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
}

async function enterToken(page: Page) {
  await page.getByLabel('Operator’s token').fill(connection().operatorToken)
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('row', { name: /takes work/ }).waitFor()
}

async function signedIn(browser: Browser, api: Api): Promise<BrowserContext> {
  const context = await openProfile(browser, profile)
  const { path } = await api.post<{ path: string }>('/v1/console/links')
  const page = await context.newPage()
  await page.goto(connection().apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  await page.close()
  return context
}

type View = { name: string; path: string; prepare?: Prepare | undefined }

async function draw(context: BrowserContext, { name, path, prepare }: View) {
  const page = await context.newPage()
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await prepare?.(page)
  await page.waitForLoadState('networkidle')
  await page.waitForFunction('!/Loading /.test(document.body.textContent)')
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
  }
  await page.close()
}
