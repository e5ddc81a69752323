// What the pictures of the console show: an account with finished, failed and open jobs, and the pages to draw.
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { eventually } from '../../support/eventually.ts'
import { sampleFile, sampleRows, shortRun } from '../../support/rows.ts'
import { connection, createApi, type Api } from '../../support/stack.ts'
import { createOperator } from '../../support/operator.ts'
import { consoleUrl } from './browser.ts'
import { openProfile } from './launch.ts'

/** The page is asked whether it still loads, which its policy would refuse. */
const profile = { viewport: { width: 1280, height: 800 }, bypassCSP: true }
/** Wide enough for every column, and a phone. The pictures of the wide page have no size in their names. */
const sizes = [
  { suffix: '', viewport: profile.viewport },
  { suffix: '-390', viewport: { width: 390, height: 844 } },
] as const
const themes = ['light', 'dark'] as const

/** A model whose answers make sense, for the playground. */
const talking = { base: 'smollm2', tuned: 'products-chat' }
const questionOf = ({ input }: { input: string }) => input.replace('Question: ', '').replace('\nAnswer: ', '')
const conversations = sampleRows.map((row) => ({
  messages: [
    { role: 'user', content: questionOf(row) },
    { role: 'assistant', content: row.output },
  ],
}))
const brokenRows = '{"input": "Does the lamp have a switch?"}\n{"output": "Yes, at the cord."}\n'

export type Ended = { first: number; second: number; failed: number; evaluation: string }
export type Open = { running: number; waiting: number }

type Prepare = (page: Page) => Promise<void>
export type View = { name: string; path: string; prepare?: Prepare; isLive?: boolean }

export async function openPicturedAccount(): Promise<Api> {
  const account = await createOperator().openAccount()
  const { key } = await account.makeKey(['inference', 'training', 'data', 'read', 'admin'], { name: 'laptop' })
  return createApi(key)
}

/** Two versions of one model. The first was cancelled and resumed, so that its curve is made of two attempts. */
export async function endJobs(api: Api): Promise<Ended> {
  await api.upload('products', sampleFile)
  await api.post('/v1/webhooks', { url: 'https://example.com/hooks', description: 'our chat room' })
  const first = await submit(api, {})
  await eventually(async () => (await api.history(first)).length > 3)
  await api.post(`/v1/train/jobs/${first}/cancel`)
  await api.untilStatus(first, 'CANCELLED')
  await api.post(`/v1/train/jobs/${first}/resume`)
  const second = await submit(api, { learning_rate: 0.0003 })
  await api.upload('conversations', conversations.map((each) => JSON.stringify(each)).join('\n'))
  const chat = await api.train({
    model_name: talking.base,
    dataset_id: 'conversations',
    custom_model_name: talking.tuned,
    finetune_args: { max_steps: 40 },
    evaluation: { max_rows: 4 },
  })
  await api.upload('tickets', sampleFile.toString() + brokenRows)
  const failed = await api.train({ dataset_id: 'tickets', custom_model_name: 'tickets-bot' })
  for (const id of [first, second, chat]) await api.untilStatus(id, 'COMPLETED')
  await api.untilStatus(failed, 'FAILED')
  return { first, second, failed, evaluation: await evaluate(api) }
}

/** A job that trains for minutes, and another one that waits for its slot. */
export async function startJobs(api: Api): Promise<Open> {
  const running = await submit(api, { max_steps: 4000 })
  const waiting = await submit(api, { max_steps: 400, learning_rate: 0.001 })
  await eventually(async () => (await api.history(running)).length > 20)
  return { running, waiting }
}

export async function cancelJobs(api: Api, { running, waiting }: Open) {
  for (const id of [waiting, running]) await api.post(`/v1/train/jobs/${id}/cancel`)
}

const submit = (api: Api, args: object) =>
  api.train({
    dataset_id: 'products',
    custom_model_name: 'products-bot',
    eval_data: sampleRows.slice(0, 10),
    finetune_args: { ...shortRun, max_steps: 120, ...args },
  })

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

export function viewsOfAccount({ first, second, failed, evaluation }: Ended, { running, waiting }: Open): View[] {
  const pages: View[] = [
    { name: 'jobs', path: '/jobs', prepare: (page) => page.locator('tr:has(.spark)').nth(1).waitFor() },
    { name: 'job', path: `/jobs/${first}` },
    { name: 'job-running', path: `/jobs/${running}`, prepare: untilDrawn, isLive: true },
    { name: 'job-waiting', path: `/jobs/${waiting}`, isLive: true },
    { name: 'job-failed', path: `/jobs/${failed}` },
    { name: 'attempts', path: `/jobs/${first}?tab=attempts`, prepare: scrollToAttempts },
    { name: 'compare', path: `/compare?jobs=${first},${second}` },
    { name: 'new-job', path: '/new?data=products' },
    { name: 'data', path: '/data' },
    { name: 'data-set', path: '/data/products' },
    { name: 'models', path: '/models' },
    { name: 'model', path: '/models/products-bot' },
    { name: 'playground', path: `/playground?models=${talking.base},${talking.tuned}&chat=1`, prepare: ask },
    { name: 'evaluations', path: '/evaluations' },
    { name: 'evaluation', path: `/evaluations/${evaluation}` },
    { name: 'usage', path: '/usage' },
    { name: 'settings', path: '/settings' },
    ...['webhooks', 'audit', 'account'].map((tab) => ({ name: tab, path: `/settings?tab=${tab}` })),
  ]
  return pages.map((view) => ({ ...view, path: consoleUrl(view.path) }))
}

/** Pages that need no session of the account. */
export const viewsOutside = (): View[] => [
  { name: 'sign-in', path: consoleUrl('/') },
  { name: 'operators', path: `${connection().adminUrl}/console`, prepare: enterToken },
]

const untilDrawn: Prepare = (page) => page.getByRole('region', { name: 'Curve' }).waitFor()

const scrollToAttempts: Prepare = (page) => page.getByText('attempts', { exact: true }).scrollIntoViewIfNeeded()

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

export const signedOut = (browser: Browser) => openProfile(browser, profile)

export async function signedIn(browser: Browser, api: Api): Promise<BrowserContext> {
  const context = await signedOut(browser)
  const { path } = await api.post<{ path: string }>('/v1/console/links')
  const page = await context.newPage()
  await page.goto(connection().apiUrl + path)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  await page.close()
  return context
}

/** Draws a page in each size and theme. */
export async function draw(context: BrowserContext, view: View, { folder, fullPage = false }: Drawn) {
  const page = await context.newPage()
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(view.path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await view.prepare?.(page)
  // A job that runs keeps a stream open.
  if (!view.isLive) await page.waitForLoadState('networkidle')
  for (const { suffix, viewport } of sizes) {
    await page.setViewportSize(viewport)
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme })
      await page.waitForFunction("!document.querySelector('.state[role=status]')")
      // A curve is drawn again in its new size and colours some frames later.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      await page.screenshot({ path: join(folder, `${view.name}${suffix}-${colorScheme}.png`), fullPage })
    }
  }
  await page.close()
}

type Drawn = { folder: string; fullPage?: boolean }
