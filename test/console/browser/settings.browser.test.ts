// Keys, limits and the mapping of columns in the console, and the page of operators.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import type { Route } from 'playwright-core'
import { eventually, patienceMs } from '../../support/eventually.ts'
import { createOperator } from '../../support/operator.ts'
import { connection, createApi } from '../../support/stack.ts'
import { consoleUrl, isAccessible, startConsole } from './browser.ts'
import { openProfile } from './launch.ts'

/** The console sends a file in parts of this size. */
const partBytes = 16 * 1024 * 1024

suite('settings and operators', { timeout: patienceMs }, async () => {
  const account = await createOperator().openAccount()
  const owner = await account.makeKey(['training', 'data', 'read', 'admin'])
  const api = createApi(owner.key)
  const { browser, context, page, problems } = await startConsole(owner.key)
  const folder = mkdtempSync(join(tmpdir(), 'anneal-upload-'))
  after(() => rmSync(folder, { recursive: true }))
  const twoParts = join(folder, 'large.jsonl')
  const row = `{"input": "Where is it?", "output": "On its way."${' '.repeat(8000)}}\n`
  writeFileSync(twoParts, row.repeat(Math.ceil((partBytes + 1) / row.length)))
  /** The text of the notice that shows a new key. */
  const shownKey = async () =>
    /ank_\S+?(?=Copy|$)/.exec((await page.getByText('shown only now').locator('..').textContent()) ?? '')?.[0] ?? ''
  const status = async (key: string) => (await createApi(key).request('GET', '/v1/models')).status

  test('a key is made, shown once, rotated and revoked', async () => {
    await page.goto(consoleUrl('/settings'))
    assert.equal(await page.getByLabel('inference', { exact: true }).count(), 0, 'no scope that the session lacks')
    await page.getByLabel('Name of a new key').fill('laptop')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('The key “laptop”, shown only now').waitFor()
    const made = await shownKey()
    assert.equal(await status(made), 200)
    const row = page.getByRole('row', { name: /laptop/ })
    await row.getByRole('button', { name: 'Rotate' }).click()
    await page.getByLabel('The old key stays valid for').selectOption('no time')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText(made).waitFor({ state: 'detached' })
    const rotated = await shownKey()
    assert.equal(await status(rotated), 200)
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Within a second every request with it is refused').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByLabel('Show revoked and expired keys').check()
    await page
      .getByRole('row', { name: /laptop.*revoked/ })
      .first()
      .waitFor()
    await page.goto(consoleUrl('/settings?tab=audit'))
    await page.getByRole('cell', { name: 'key.rotate' }).waitFor()
    assert.ok(!(await page.content()).includes(rotated))
  })

  test('the limits and what is left are shown', async () => {
    await page.goto(consoleUrl('/usage'))
    await page.getByRole('row', { name: /^Valid API keys/ }).waitFor()
    await page.getByRole('row', { name: /Open training jobs 0 of 1,000 .* 1,000/ }).waitFor()
  })

  test('the columns of a file with other names are chosen before a job is submitted', async () => {
    await page.goto(consoleUrl('/new'))
    const file = 'subject,reply\nWhere is it?,On its way.\n"Who, exactly?",Ann.\n'
    await page
      .getByLabel('Upload a file, or drop it here')
      .setInputFiles({ name: 'tickets.csv', mimeType: 'text/csv', buffer: Buffer.from(file) })
    await page.getByText('Which columns hold the rows?').waitFor()
    assert.equal(await page.getByText('cannot be read').count(), 0, 'the guess comes first')
    await page.getByLabel('Inputs are in').selectOption('subject')
    await page.getByLabel('Outputs are in').selectOption('reply')
    await page.getByRole('button', { name: 'Use these columns' }).click()
    await page.getByText('Every row can be read').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Start training' }).isEnabled())
    assert.deepEqual(problems, [])
  })

  test('a job that failed for its data begins with the reason, and leads to the data set', async () => {
    await api.upload('broken', '{"input": "no output"}')
    const id = await api.train({ dataset_id: 'broken' })
    await api.untilStatus(id, 'FAILED')
    const open = await openProfile(browser, { bypassCSP: true, storageState: await context.storageState() })
    const failed = await open.newPage()
    await failed.goto(consoleUrl(`/jobs/${id}`))
    const reason = failed.getByRole('region', { name: 'Why the job failed' })
    await reason.getByText('output').waitFor()
    await isAccessible(failed, 'a failed job')
    await reason.getByRole('link', { name: 'Open the data set' }).click()
    await failed.getByText('1 row cannot be read').or(failed.getByText('is missing')).first().waitFor()
    await isAccessible(failed, 'a bad data set')
    await open.close()
  })

  // Only a browser keeps the file's identity and the stored parts over a reload.
  test('an upload that was cut goes on after its last stored part', async () => {
    let sent = 0
    await page.route('**/openai/v1/uploads/*/parts', (route) => {
      sent++
      // The second part is cut: nothing answers it before the page is loaded again.
      return sent === 2 ? undefined : route.continue()
    })
    const upload = async () => {
      await page.goto(consoleUrl('/new'))
      await page.getByLabel('Upload a file, or drop it here').setInputFiles(twoParts)
    }
    await upload()
    await eventually(() => sent === 2, 'the second part')
    await upload()
    // The form keeps the data set of the test before until this one is stored.
    await page.waitForURL(/data=/)
    await page.getByText('Every row can be read').waitFor()
    assert.equal(sent, 3, 'the first part is sent once')
    await page.unrouteAll()
  })

  test('a conversation is shown with the messages that the trainer learns marked', async () => {
    const [user, assistant] = ['user', 'assistant'].map((role) => (content: string) => ({ role, content }))
    assert.ok(user && assistant)
    const messages = [user('Hello'), assistant('Good morning'), user('Where is it?'), assistant('On its way')]
    await api.upload('talk', JSON.stringify({ messages }))
    await page.goto(consoleUrl('/data/talk'))
    await page.getByRole('listitem').getByText('Where is it?').waitFor()
    const marked = page.getByRole('listitem').locator('mark')
    assert.deepEqual(await marked.allTextContents(), ['Good morning', 'On its way'])
  })

  test('the page of operators shows workers, slots and model servers to the operator alone', async () => {
    const open = await openProfile(browser, { bypassCSP: true })
    const operators = await open.newPage()
    await operators.goto(`${connection().adminUrl}/console`)
    await operators.getByLabel('Operator’s token').fill(owner.key)
    await operators.getByRole('button', { name: 'Open' }).click()
    await operators.getByText('invalid token').waitFor()
    await operators.getByLabel('Operator’s token').fill(connection().operatorToken)
    await operators.getByRole('button', { name: 'Open' }).click()
    await operators.getByRole('row', { name: /takes work/ }).waitFor()
    await operators.getByRole('button', { name: 'Stop new work' }).click()
    await operators.getByLabel('Message to users').fill('Upgrade until noon.')
    await isAccessible(operators, 'operators, asked')
    await operators.getByRole('dialog').getByRole('button', { name: 'Stop new work' }).click()
    await operators.getByText(/New work has been stopped since .* Upgrade until noon\./).waitFor()
    const id = await api.train({ dataset_id: 'waits', data: [{ input: 'Where?', output: 'Here.' }] })
    await operators.getByLabel('Number of the job').fill(String(id))
    await operators.getByRole('button', { name: 'Show' }).click()
    const found = operators.getByRole('region', { name: `Job ${id}` })
    await found
      .getByText(/Upgrade until noon\. The job starts/)
      .first()
      .waitFor()
    await found.getByRole('link', { name: 'Open in Temporal' }).waitFor()
    await isAccessible(operators, 'operators, a job')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await operators.getByRole('button', { name: 'Let new work start' }).click()
    await operators.getByRole('button', { name: 'Let it start' }).click()
    await operators.getByText('New work starts.').waitFor()
    for (const name of [
      'Find a job',
      'Queue and slots',
      'Failed today',
      'Maintenance',
      'Workers',
      'Model servers',
      'Outbox',
      'Webhooks',
      'Reaper',
    ])
      await operators.getByRole('region', { name }).waitFor()
    await isAccessible(operators, 'operators')
    await operators.getByRole('link', { name: 'docs/reliability.md, “The reaper”' }).click()
    await operators.getByText('looks every 20 s and releases resources').waitFor()
    await open.close()
  })

  test('a link says which account and key it opens, opens nothing by itself, and its refusal ends no session', async () => {
    const stranger = await (await createOperator().openAccount()).makeKey(['read'])
    const { path } = await createApi(stranger.key).post<{ path: string }>('/v1/console/links')
    const profile = await openProfile(browser, { bypassCSP: true })
    const visited = await profile.newPage()
    await visited.goto(connection().apiUrl + path)
    await visited.getByText(`to the account test with the key “test” (${stranger.id}), which may: read.`).waitFor()
    await isAccessible(visited, '/open')
    await visited.getByRole('button', { name: 'Do not sign in' }).click()
    await visited.getByLabel('API key').waitFor()
    await isAccessible(visited, 'sign-in')
    assert.deepEqual(await profile.cookies(), [])
    await profile.close()
    await page.goto(consoleUrl(`/open#${'A'.repeat(43)}`))
    await page.getByText('a sign-in link works only once').waitFor()
    await page.getByRole('link', { name: 'Stay signed in' }).click()
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  })

  // All tabs share a session. Only browsers tell other tabs of a change.
  test('another account that signs in in a second tab gets nothing that the first tab holds', async () => {
    await page.goto(consoleUrl('/settings'))
    await page.getByLabel('Name of a new key').fill('desk')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('The key “desk”, shown only now').waitFor()
    const secret = await shownKey()
    const uploading = await context.newPage()
    const parts: Route[] = []
    let isGivenUp = false
    uploading.on('requestfailed', (request) => (isGivenUp ||= request.url().endsWith('/parts')))
    await uploading.route('**/openai/v1/uploads/*/parts', (route) => void parts.push(route))
    await uploading.goto(consoleUrl('/new'))
    await uploading.getByLabel('Upload a file, or drop it here').setInputFiles(twoParts)
    await eventually(() => parts.length === 1, 'the first part')

    const stranger = createApi((await (await createOperator().openAccount()).makeKey(['data', 'read', 'admin'])).key)
    const { path } = await stranger.post<{ path: string }>('/v1/console/links')
    const other = await context.newPage()
    await other.goto(connection().apiUrl + path)
    await other.getByText(`This browser is signed in with the key ${owner.id}`).waitFor()
    assert.ok(await page.getByText(secret).isVisible(), 'a link that is only opened changes nothing')
    await other.getByRole('button', { name: 'Sign in with the link' }).click()
    for (const tab of [other, page, uploading]) await tab.getByText('No job yet').waitFor()
    assert.ok(!(await page.content()).includes(secret))
    await parts[0]?.continue().catch(() => 'the page has given it up')
    await eventually(() => isGivenUp || parts.length > 1, 'the end of the upload')
    assert.equal(parts.length, 1, 'no part is sent for the other account')
    assert.deepEqual(problems, [])
  })
})
