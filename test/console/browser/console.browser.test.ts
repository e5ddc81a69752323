// The console in a real browser against the real service: from a sign-in link to an answer of a model tuned in the console.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { patienceMs, until } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { sampleFile, sampleRows } from '../../support/rows.ts'
import { createApi } from '../../support/stack.ts'
import { consoleUrl, isAccessible, openConsole, settled, startConsole } from './browser.ts'
import { openProfile } from './launch.ts'

const script = '<script>alert(1)</script><img src=x onerror=alert(2)>'
const name = `shop ${script}`
const markedRow = JSON.stringify({ input: `What is ${script}?`, output: script })
/** Few enough that the model learns all of them in small steps. */
const learnedRows = [markedRow, ...sampleFile.toString().split('\n').slice(0, 11)].join('\n')
const rowsFile = (body: string | Buffer) => ({
  name: 'rows.jsonl',
  mimeType: 'application/jsonl',
  buffer: Buffer.from(body),
})

suite('the console', { timeout: patienceMs }, async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const owner = await account.makeKey(['inference', 'training', 'data', 'read', 'admin'])
  const api = createApi(owner.key)
  const { browser, context, page, problems } = await startConsole(owner.key)
  let jobId = 0
  let failedId = 0

  async function areAccessible(paths: string[]) {
    // axe-core is a script of the test, which the policy of the service would refuse.
    const open = await openProfile(browser, { bypassCSP: true, storageState: await context.storageState() })
    const visited = await open.newPage()
    for (const path of paths) {
      await visited.goto(consoleUrl(path))
      await settled(visited)
      await isAccessible(visited, path)
    }
    await open.close()
  }

  test('a link signs in once, and no secret is left in the address or in the storage of the page', async () => {
    assert.equal(page.url(), consoleUrl('/jobs'))
    await page.getByText('No job yet').waitFor()
    const stored = await page.evaluate<string>('JSON.stringify(localStorage)')
    assert.ok(!stored.includes(owner.key.slice(-20)))
    assert.equal(await page.evaluate('document.cookie'), '')
  })

  test('a file with a bad row is refused with its line before anything is submitted, unless the row is left out', async () => {
    await page.getByRole('link', { name: 'Start the first one' }).click()
    await page
      .getByLabel('Upload a file, or drop it here')
      .setInputFiles(rowsFile(`${sampleFile.toString()}{"input": "no output"}\n`))
    await page.getByText('1 row cannot be read').waitFor()
    await page.getByRole('cell', { name: '41', exact: true }).waitFor()
    const start = page.getByRole('button', { name: 'Start training' })
    assert.ok(await start.isDisabled())
    await page.getByLabel(/^Leave out the bad row/).check()
    await page.getByRole('status').getByText('40 rows, ').waitFor()
    await page.reload()
    await page.locator('button.start:enabled').waitFor()
    assert.ok(await page.getByLabel(/^Leave out the bad row/).isChecked(), 'a reload keeps the form')
  })

  test('pairs are for the methods that take them, and a wrong hyperparameter is told at its field', async () => {
    const pairs = [1, 2].map((n) => JSON.stringify({ prompt: `Question ${n}?`, chosen: 'Yes.', rejected: 'No.' }))
    await page.getByLabel('Upload a file, or drop it here').setInputFiles(rowsFile(pairs.join('\n')))
    await page.getByText('Every row can be read').waitFor()
    const method = page.getByLabel('Method')
    assert.equal(await method.inputValue(), 'dpo')
    assert.deepEqual(await method.locator('option').evaluateAll((all) => all.map((each) => each.value)), ['dpo', 'kto'])
    await page.getByText('Hyperparameters of dpo').click()
    await page.getByLabel(/^beta/).fill('20')
    await page.getByText('a number from 0 to 10').first().waitFor()
    await page.getByLabel(/^beta/).fill('0.2')
    await page.getByRole('status').getByText('2 rows, ').waitFor()
  })

  test('data sets are mixed by weights, whose shares are shown, and are asked for together', async () => {
    await api.upload('other', learnedRows)
    await page.getByLabel('Upload a file, or drop it here').setInputFiles(rowsFile(learnedRows))
    await page.getByText('Every row can be read').waitFor()
    await page.getByLabel('Mix with another data set').selectOption('other')
    await page.getByLabel('Weight of other').fill('3')
    const row = page.getByRole('table', { name: 'Data sets of the job' }).getByRole('row').filter({ hasText: 'other' })
    await row.getByText('75 %').waitFor()
    await page.getByRole('status').getByText('24 rows, ').waitFor()
    await page.getByLabel('Weight of other').fill('0')
    await page.getByText('Write a number above 0 as the weight of other').waitFor()
    await page.getByRole('button', { name: 'Leave out other' }).click()
    await page.getByRole('status').getByText('12 rows, ').waitFor()
  })

  test('the mended file is trained on with the arguments of the form', async () => {
    await page.getByLabel('Upload a file, or drop it here').setInputFiles(rowsFile(learnedRows))
    await page.getByText('Every row can be read').waitFor()
    await page.getByLabel('Name of the tuned model').fill(name)
    await page.getByText('Arguments; empty fields').click()
    await page.getByLabel(/^Steps/).fill('100')
    await page
      .getByLabel(/^Further arguments/)
      .fill(JSON.stringify({ batch_size: 4, save_steps: 20, target_modules: [script] }))
    await page.getByText('Show as curl').click()
    await page.getByText('"max_steps": 100').waitFor()
    await page.getByRole('status').getByText('12 rows, 100 steps').waitFor()
    await page.getByRole('button', { name: 'Start training' }).click()
    await page.waitForURL(/\/jobs\/\d+$/)
    jobId = Number(/\d+$/.exec(page.url())?.[0])
    const [job] = await api.get<{ job_id: number }[]>('/v1/train/jobs')
    assert.equal(job?.job_id, jobId)
  })

  test('the curve grows while the job trains, without a reload', async () => {
    await page.getByRole('region', { name: 'Curve' }).waitFor()
    await page.getByText('training model').first().waitFor()
  })

  test('a cancelled job says what is kept, and goes on when it is resumed', async () => {
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByText('The last checkpoint is kept').waitFor()
    await page.getByRole('button', { name: `Cancel job ${jobId}` }).click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('1×', { exact: true }).waitFor()
  })

  // The resumed job trains during this test and the next one.
  test('a service that is away is named, and the page heals by itself', async () => {
    await context.setOffline(true)
    await page.getByText('The service has not answered since').waitFor()
    assert.ok(await page.getByRole('heading', { level: 1 }).isVisible(), 'the page keeps what it has')
    await context.setOffline(false)
    await page.getByText('The service has not answered since').waitFor({ state: 'detached' })
  })

  test('the other pages are accessible in both themes, and fit a narrow screen', async () => {
    const { dataset_id: datasetId } = await api.job(jobId)
    await api.upload('broken', '{"input": "no output"}')
    failedId = await api.train({ dataset_id: 'broken' })
    const settings = ['keys', 'webhooks', 'audit', 'account'].map((tab) => `/settings?tab=${tab}`)
    const others = ['/jobs', '/new', '/data', `/data/${datasetId}`, '/playground', '/nowhere']
    await areAccessible([`/jobs/${jobId}`, ...others, ...settings])
  })

  test('the finished job shows its answers, its attempts, its states and its log', async () => {
    await api.untilStatus(jobId, 'COMPLETED')
    await page.getByRole('link', { name: 'Ask the model' }).waitFor()
    await page.getByText('Exactly as expected').waitFor()
    assert.ok(
      (await page.getByRole('list', { name: 'Attempts that the curve is made of' }).getByRole('listitem').count()) >= 1,
    )
    await page.getByRole('list', { name: 'States of the job' }).getByText('completed').waitFor()
    await page.getByRole('button', { name: 'log', exact: true }).click()
    await page.getByLabel('Search the log').fill('step')
    await page.getByText(/\d+ lines/).waitFor()
    await page.reload()
    await page.getByText(/\d+ lines/).waitFor()
    assert.equal(await page.getByLabel('Search the log').inputValue(), 'step', 'the address keeps the set-up')
  })

  test('a point of the curve is read by the pointer and by keys; the address keeps the zoom, which a double click ends', async () => {
    const drawing = page.locator('.chart .u-over')
    const hover = async (share: number) => {
      const { width = 0, height = 0 } = (await drawing.boundingBox()) ?? {}
      await drawing.hover({ position: { x: width * share, y: height / 2 } })
    }
    const point = async () => (await page.locator('.chart').getAttribute('aria-valuetext')) ?? ''
    /** The curve is drawn, and the point under it follows the mouse, some frames later than the page. */
    const isStepNear = (share: number, step: string) =>
      until(`step ${step} at ${share} of the width`, async () => {
        await hover(share)
        return (await point()).startsWith(`step ${step} · loss `)
      })
    // The curve begins at step 1.
    await isStepNear(0.136, '10')
    await page.mouse.down()
    await hover(0.545)
    await page.mouse.up()
    await page.waitForURL(/zoom=1\d\.?\d*-5\d/)
    await page.reload()
    await isStepNear(0.9, '50')
    await page.getByRole('button', { name: 'last half' }).click()
    await isStepNear(0.1, '40')
    await drawing.dblclick()
    await page.waitForURL((url) => !url.search.includes('zoom'))
    await isStepNear(0.98, '100')
    await page.locator('.chart').press('ArrowLeft')
    await until('the step before the last one', async () => /^step 90 · .*learning rate .* s$/.test(await point()))
  })

  // The trainer names the layers that it does not find in an event and in the log. React escapes, and the policy refuses what runs; only a browser shows that every page leaves both as they are.
  test('text of users is text: a script in a name, a row, an event, a log and an answer runs nowhere', async () => {
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), `${name}@1`)
    const { dataset_id: datasetId } = await api.job(jobId)
    const tabs = ['answers', 'events', 'log', 'arguments'].map((tab) => `/jobs/${jobId}?tab=${tab}`)
    for (const path of [`/data/${datasetId}`, ...tabs]) {
      await page.goto(consoleUrl(path))
      const tab = /tab=(\w+)/.exec(path)?.[1]
      const part = tab === undefined ? page.getByRole('table') : page.getByRole('region', { name: tab, exact: true })
      await part.getByText(script).first().waitFor()
      assert.equal(await page.locator('#root :is(script, img):not(header img)').count(), 0, path)
    }
    await page.goto(consoleUrl('/jobs'))
    await page.getByRole('link', { name: /^shop <script>/ }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('the list is worked with keys, and its filter is in the address', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('nothing like it')
    await page.getByText('No job fits this filter').waitFor()
    assert.match(page.url(), /q=nothing/)
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('row', { name: /shop/ }).waitFor()
    await page.keyboard.press('Tab')
    await page.getByRole('heading', { level: 1 }).click()
    // The failed job is newer.
    for (let row = 0; row < 2; row++) await page.keyboard.press('j')
    await page.getByRole('link', { name: /shop/ }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/jobs\/\d+$/)
  })

  test('Ctrl-K leads to a job by its name, and to an action of the page', async () => {
    await page.goto(consoleUrl('/models'))
    await page.getByRole('heading', { name: 'Models', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Find/ }).fill(`job ${name.split(' ')[0]}`)
    await page.getByRole('option', { name: /Job$/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/jobs/${jobId}$`))
    await page.getByRole('link', { name: 'Ask the model' }).waitFor()
    assert.equal(await page.title(), `${name}@1 · Anneal`)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Find/ }).fill('ask the model')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/playground/)
  })

  test('the playground streams the tuned answer beside that of the base, and gives a structured one', async () => {
    const { input, output } = sampleRows[0] ?? assert.fail('no sample')
    const ask = async () => {
      await page.getByLabel('Prompt', { exact: true }).fill(input)
      await page.getByRole('button', { name: 'Ask', exact: true }).click()
    }
    // The default temperature draws another answer each time.
    await page.getByLabel('Temperature').fill('0')
    await page.getByLabel('Max tokens').fill('24')
    await page.getByLabel('Ask each model').selectOption('with a plain prompt')
    await ask()
    const answers = page.getByRole('region', { name: 'Answers' })
    await answers
      .getByText(output.split(' ').slice(-1)[0] ?? '')
      .first()
      .waitFor()
    await answers
      .getByText(/^\d+ tokens, \d+ in the prompt · .* s · first token after /)
      .first()
      .waitFor()
    assert.equal(await answers.getByRole('article').count(), 2)
    assert.ok(!page.url().includes('Question'), 'the address does not hold the prompt')
    // The model has to answer one of two scripts.
    await page.getByLabel('Max tokens').fill('64')
    for (const [at, field] of ['colour', 'markup'].entries()) {
      await page.getByRole('button', { name: 'Add a field' }).click()
      await page
        .getByRole('group', { name: `Field ${at + 1}` })
        .getByLabel('Name')
        .fill(field)
    }
    await page.getByRole('group', { name: 'Field 2' }).getByLabel('Type').selectOption('one of')
    await page.getByLabel('Values').fill(`${script}|${script}!`)
    await ask()
    await answers.getByText('"colour":').first().waitFor()
    await answers.getByText(`"markup": "${script}`).first().waitFor()
    assert.equal(await page.locator('#root :is(script, img):not(header img)').count(), 0)
    for (const field of ['markup', 'colour']) await page.getByRole('button', { name: `Remove ${field}` }).click()
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByLabel('Ask each model').selectOption('as a chat')
    await ask()
    await answers.locator('article[aria-busy=false]').nth(1).waitFor()
    assert.equal(await answers.locator('.failure').count(), 0)
    await page.getByRole('button', { name: 'History' }).click()
    await page
      .getByRole('dialog')
      .getByText(input.split('\n')[0] ?? '')
      .first()
      .waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  })

  test('the pages of a finished job are accessible in both themes, and fit a narrow screen', async () => {
    const { data: models } = await api.get<{ data: { id: string; job_id: number | null }[] }>('/v1/models')
    const model = models.find(({ job_id: id }) => id === jobId) ?? assert.fail('the job has no model')
    const tabs = ['answers', 'log', 'checkpoints', 'arguments'].map((tab) => `/jobs/${jobId}?tab=${tab}`)
    await areAccessible([...tabs, `/compare?jobs=${jobId},${failedId}`, '/models', `/models/${model.id}`, '/usage'])
    await page.goto(consoleUrl('/usage?by=key'))
    await page.getByRole('row').getByTitle(owner.id).waitFor()
  })

  test('a key that may only read shows no button that changes anything', async () => {
    const reader = await account.makeKey(['read'])
    const { context: other, page: read } = await openConsole(browser, reader.key)
    await read.goto(consoleUrl(`/jobs/${jobId}`))
    await read.getByText('Exactly as expected').waitFor()
    for (const action of ['Cancel', 'Resume', 'Duplicate', 'Ask the model'])
      assert.equal(await read.getByText(action, { exact: true }).count(), 0, action)
    await other.close()
  })

  test('a revoked key ends its sessions', async () => {
    await page.goto(consoleUrl('/jobs'))
    await page.getByRole('row', { name: /shop/ }).waitFor()
    await operator.post(`/keys/${owner.id}/revoke`)
    await page.getByLabel('API key').waitFor()
    assert.deepEqual(problems, [])
  })

  test('a wrong key is refused with the sentence of the service, and the next account sees nothing of the last', async () => {
    const stranger = await (await operator.openAccount()).makeKey(['read'])
    await page.getByLabel('API key').fill(`${stranger.key.slice(0, -1)}~`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('invalid token').waitFor()
    await page.getByLabel('API key').fill(stranger.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No job yet').waitFor()
    assert.equal(await page.getByText('shop').count(), 0)
    await page.goto(consoleUrl(`/jobs/${jobId}`))
    await page.getByText(`There is no training job ${jobId}`).waitFor()
  })
})
