// The console while processes are killed, and what a user does with two finished jobs.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../../src/embedded/connection.ts'
import { eventually, patienceMs } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { pidOf } from '../../support/processes.ts'
import { sampleFile, shortRun } from '../../support/rows.ts'
import { connection, createApi } from '../../support/stack.ts'
import { consoleUrl, startConsole } from './browser.ts'

const name = 'products-bot'

suite('the console while processes are killed', { timeout: patienceMs }, async () => {
  const owner = await (await createOperator().openAccount()).makeKey(['inference', 'training', 'data', 'read', 'admin'])
  const api = createApi(owner.key)
  await api.upload('products', sampleFile)
  const train = (args: object) =>
    api.train({ dataset_id: 'products', custom_model_name: name, finetune_args: { ...shortRun, ...args } })
  const { page, problems } = await startConsole(owner.key)
  const jobs: number[] = []

  /** The number of points of the curve on the page. */
  const points = async () => {
    const label = await page.getByRole('slider', { name: /^Losses of job/ }).getAttribute('aria-label')
    return Number(/over (\d+) points/.exec(label ?? '')?.[1])
  }

  test('a curve grows on without a reload when the worker is killed', async () => {
    const id = await train({ max_steps: 600 })
    jobs.push(id)
    await page.goto(consoleUrl(`/jobs/${id}`))
    await page.getByRole('region', { name: 'Curve' }).waitFor()
    const before = await points()
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    await eventually(async () => (await points()) > before + 2)
    assert.equal((await api.job(id)).resume_count, 0)
  })

  test('the page says what a killed trainer lost, and follows the next attempt', async () => {
    const [id = 0] = jobs
    // The first ten steps are points of their own; later points, and checkpoints, come every ten steps.
    await eventually(async () => (await points()) > 12)
    process.kill(pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer'), 'SIGKILL')
    await page.getByText('1×', { exact: true }).waitFor()
    const attempts = page.getByRole('list', { name: 'Attempts that the curve is made of' }).getByRole('listitem')
    await attempts.getByText(/^Attempt 1, steps 0 to \d+, ended: (?!finished).* lost, .* kept/).waitFor()
    await attempts.getByText(/^Attempt 2, steps \d+ to \d+, runs/).waitFor()
    await api.untilStatus(id, 'COMPLETED')
    await page.getByRole('list', { name: 'States of the job' }).getByText('completed').waitFor()
  })

  test('two jobs are chosen in the list and compared', async () => {
    jobs.push(await train({ learning_rate: 0.0003 }))
    await api.untilStatus(jobs[1] ?? 0, 'COMPLETED')
    await page.goto(consoleUrl('/jobs'))
    for (const id of jobs) await page.getByLabel(`Select job ${id}`).check()
    await page.getByRole('link', { name: 'Compare' }).click()
    const differs = page.getByRole('region', { name: 'What differs' })
    await differs.getByRole('row', { name: /^learning_rate 0\.\d+ 0\.\d+$/ }).waitFor()
    await differs.getByRole('row', { name: /^max_steps 60 600$/ }).waitFor()
    assert.equal(await differs.getByRole('row', { name: /^seed/ }).count(), 0, 'only what differs')
    await page.getByRole('slider', { name: /^Training losses of jobs/ }).waitFor()
  })

  test('an alias is moved after its consequence was read, and is asked in the playground', async () => {
    await page.goto(consoleUrl('/models'))
    await page.getByRole('button', { name: 'Move alias' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(`${name}@production`).waitFor()
    await dialog.getByLabel('Version').selectOption({ index: 1 })
    await dialog.getByRole('button', { name: 'Move' }).click()
    await page.getByText(`${name}@production is now version`).waitFor()
    await page.goto(consoleUrl(`/playground?models=${connection().baseModel}`))
    await page.getByRole('button', { name: 'Add a model' }).click()
    await page.getByRole('combobox', { name: 'Model 2' }).selectOption(`${name}@production`)
    await page.getByLabel('Prompt', { exact: true }).fill('What colour is it?')
    await page.getByLabel('Max tokens').fill('8')
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    const answers = page.getByRole('region', { name: 'Answers' })
    await answers.locator('article[aria-busy=false]').nth(1).waitFor()
    assert.equal(await answers.locator('.failure').count(), 0)
    assert.deepEqual(problems, [])
  })
})
