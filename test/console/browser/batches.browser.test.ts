// Batches in the console, from the list to the errors of one of them.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { patienceMs } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { connection, createApi } from '../../support/stack.ts'
import { consoleUrl, isAccessible, startConsole } from './browser.ts'
import { openProfile } from './launch.ts'

const narrow = 390

suite('batches in the console', { timeout: patienceMs }, async () => {
  const account = await createOperator().openAccount()
  const { key } = await account.makeKey(['inference', 'read'])
  const api = createApi(key)
  const { browser, context, page, problems } = await startConsole(key)
  const make = async (path: string, body: object) => (await api.post<{ id: string }>(path, body)).id
  let path = ''

  test('a batch shows how far it is, the errors of its items, and its results', async () => {
    const prompt = ['a', 'word '.repeat(20_000)]
    await make('/v1/batch_completions', { model_name: connection().baseModel, prompt, max_tokens: 2 })
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Batches' }).click()
    await page.getByRole('link', { name: '2 completions' }).click()
    path = new URL(page.url()).pathname.replace('/console', '')
    await page.getByText('completed').first().waitFor()
    await page.getByRole('button', { name: 'Show the errors (1)' }).click()
    await page.getByRole('row', { name: /^prompt\[1\] The prompt at position 1 is too long/ }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the results' }).click(),
    ])
    assert.match(download.suggestedFilename(), /^batch-[0-9a-f-]{36}\.json$/)
    assert.deepEqual(problems, [])
  })

  test('an open batch is cancelled, and its filter finds it', async () => {
    const prompt = Array.from({ length: 5000 }, (_, at) => `Question ${at}?`)
    const id = await make('/v1/batch_completions', { model_name: connection().baseModel, prompt, max_tokens: 100 })
    await page.goto(consoleUrl(`/batches/${id}`))
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel the batch' }).click()
    await page.getByText('The batch was cancelled.').waitFor()
    await page.goto(consoleUrl('/batches?show=cancelled'))
    await page.getByRole('link', { name: '5,000 completions' }).waitFor()
    assert.equal(await page.getByRole('link', { name: '2 completions' }).count(), 0)
  })

  test('the pages of batches are accessible in both themes, and their rows are cards on a narrow screen', async () => {
    // axe-core is a script of the test, which the policy of the service would refuse.
    const open = await openProfile(browser, { bypassCSP: true, storageState: await context.storageState() })
    const visited = await open.newPage()
    for (const shown of [path, '/batches', '/batches?show=failed']) {
      await visited.goto(consoleUrl(shown))
      await visited
        .getByText(/2 completions|No such batch/)
        .first()
        .waitFor()
      await isAccessible(visited, shown)
      await visited.setViewportSize({ width: narrow, height: 740 })
      await visited.waitForFunction(`document.documentElement.scrollWidth <= ${narrow}`)
      await visited.setViewportSize({ width: 1280, height: 900 })
    }
    await open.close()
  })
})
