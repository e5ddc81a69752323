// Evaluations in the console, from the form to the worst rows.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { patienceMs } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { sampleRows } from '../../support/rows.ts'
import { connection, createApi } from '../../support/stack.ts'
import { consoleUrl, isAccessible, startConsole } from './browser.ts'
import { openProfile } from './launch.ts'

suite('evaluations in the console', { timeout: patienceMs }, async () => {
  const account = await createOperator().openAccount()
  const { key } = await account.makeKey(['inference', 'data', 'read'])
  const { browser, context, page, problems } = await startConsole(key)

  test('an evaluation is created in a form, and its page has the scores and the rows', async () => {
    const rows = sampleRows.slice(0, 3)
    await createApi(key).upload('three', rows.map((row) => JSON.stringify(row)).join('\n'))
    await page.goto(consoleUrl('/evaluations?new=1'))
    const dialog = page.getByRole('dialog', { name: 'New evaluation' })
    await dialog.getByLabel(connection().baseModel, { exact: true }).check()
    await dialog.getByLabel('Data set').selectOption('three')
    await dialog.getByText('Graders: chosen by the data').click()
    await dialog.getByLabel('exact_match').check()
    await dialog.getByRole('button', { name: 'Create evaluation' }).click()
    await page.getByRole('heading', { name: 'exact_match' }).waitFor()
    await page.waitForURL(/\/evaluations\/[0-9a-f-]{36}$/)
    await page
      .getByText(rows[0]?.output ?? '')
      .first()
      .waitFor()
    assert.equal(await page.locator('.answers > li').count(), rows.length)
    await page.getByRole('link', { name: 'Duplicate' }).click()
    await dialog.getByText('Graders: exact_match').waitFor()
    assert.equal(await dialog.getByLabel('Data set').locator('option:checked').textContent(), 'three')
    await page.goBack()
    assert.deepEqual(problems, [])
  })

  test('the pages of evaluations are accessible in both themes', async () => {
    // axe-core is a script of the test, which the policy of the service would refuse.
    const open = await openProfile(browser, { bypassCSP: true, storageState: await context.storageState() })
    const visited = await open.newPage()
    for (const path of [new URL(page.url()).pathname.replace('/console', ''), '/evaluations', '/evaluations?new=1']) {
      await visited.goto(consoleUrl(path))
      await visited.getByText('three').first().waitFor({ state: 'attached' })
      await isAccessible(visited, path)
    }
    await open.close()
  })
})
