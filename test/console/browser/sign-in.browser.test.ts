// People sign in to the console and to the API with a real identity provider: a stack of its own, the provider's own pages.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { stopStack } from '../../../src/embedded/stop.ts'
import { makeHome, startStack, whenReady } from '../../embedded/support/stack-process.ts'
import { eventually, patienceMs } from '../../support/eventually.ts'
import { clientId, startProvider } from '../../support/provider.ts'
import { fillAccount } from './filled-account.ts'
import { launch, openProfile } from './launch.ts'
import { walkOf } from './walk.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

suite('people sign in with an identity provider', { timeout: patienceMs }, () => {
  const home = makeHome()
  let site = ''
  let provider: Awaited<ReturnType<typeof startProvider>>
  let browser: Awaited<ReturnType<typeof launch>>

  before(async () => {
    const port = await freePort()
    site = `http://127.0.0.1:${port}`
    const groups = { ann: ['ml', 'sales'], vic: ['readers'], eve: ['strangers'] }
    provider = await startProvider({ site, groups })
    const environment = {
      ...{ ANNEAL_OIDC_ISSUER: provider.url, ANNEAL_OIDC_CLIENT_ID: clientId },
      ...{ ANNEAL_OIDC_ROLES: 'ml=research:admin,sales=sales:editor,readers=research:viewer' },
      ANNEAL_OIDC_SCOPES: 'openid profile email groups',
    }
    await whenReady(home.dir, startStack(home.dir, port, environment))
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await stopStack(home.dir, () => {})
    await provider?.stop()
    home.remove()
  })

  async function signIn(name: string, path = '/console/models'): Promise<Page> {
    const context = await openProfile(browser)
    const page = await context.newPage()
    await page.goto(site + path)
    await page.getByRole('link', { name: 'Sign in with' }).click()
    await page.locator('[name=login]').fill(name)
    await page.locator('[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    return page
  }

  const openAccount = (page: Page) => page.getByRole('button', { name: 'Keys and account' }).click()

  test('an admin comes back to the page, changes the account, makes a key that ends, and signs out', async () => {
    const page = await signIn('ann')
    await page.getByRole('heading', { name: 'Models' }).waitFor()
    assert.equal(page.url(), `${site}/console/models`)
    await openAccount(page)
    await page.getByText('ann of the tests <ann@example.com>').waitFor()
    await page.getByText('research as admin').waitFor()
    await page.getByRole('link', { name: 'sales' }).click()
    // The provider still knows the person, so nobody is asked.
    await page.getByRole('heading', { name: 'Models' }).waitFor()
    await openAccount(page)
    // The account of the session is no link.
    await page.getByRole('link', { name: 'research' }).click()
    await page.getByRole('heading', { name: 'Models' }).waitFor()

    await page.goto(`${site}/console/settings`)
    await page.getByLabel('Name of a new key').fill('notebook')
    await page.getByLabel('read', { exact: true }).check()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('The key “notebook”, shown only now').waitFor()
    await page.getByText('made by ann of the tests').waitFor()
    await page.goto(`${site}/console/settings?tab=audit`)
    await page.getByRole('cell', { name: 'key.create' }).waitFor()
    await page.getByRole('cell', { name: 'ann@example.com' }).first().waitFor()

    await openAccount(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('Do you want to sign-out').waitFor()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('link', { name: 'Sign in with' }).waitFor()
  })

  test('a viewer sees no button that would be refused; somebody without a role is told so', async () => {
    const page = await signIn('vic', '/console/jobs')
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await openAccount(page)
    await page.getByText('research as viewer').waitFor()
    assert.equal(await page.getByRole('link', { name: 'New job' }).count(), 0)
    const stranger = await signIn('eve')
    await stranger.getByText('none of its 1 groups has a role here').waitFor()
    assert.equal(
      (await stranger.context().cookies(site)).filter(({ name }) => name.startsWith('anneal_session')).length,
      0,
    )
  })

  test('no page shows a viewer a button whose request is refused', async () => {
    const page = await signIn('vic', '/console/jobs')
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    const filled = await fillAccount(home.dir, site, 'research')
    const { refused, pressAll } = walkOf(page)
    const settings = ['keys', 'webhooks', 'audit', 'account'].map((tab) => `settings?tab=${tab}`)
    const others = ['new', 'evaluations', 'batches', 'playground', 'compare', 'usage']
    for (const path of [...filled, ...others, ...settings]) await pressAll(`${site}/console/${path}`)
    assert.deepEqual(refused, [])
    // The same walk finds the buttons of a session that takes itself for an admin's.
    await page.evaluate(`localStorage.setItem('anneal-session', JSON.stringify({
      ...JSON.parse(localStorage.getItem('anneal-session')), scopes: ['read', 'data', 'training', 'inference', 'admin'] }))`)
    const acting = filled.filter((path) => /^(jobs|data|batches)\//.test(path))
    for (const path of acting) await pressAll(`${site}/console/${path}`)
    for (const found of [/POST .*\/cancel on .*\/jobs\//, /DELETE .* on .*\/data\//, /GET .*\/result on .*\/batches\//])
      assert.ok(
        refused.some((each) => found.test(each)),
        `${String(found)} in ${refused.join('\n')}`,
      )
  })

  test('a sign-in is refused with another state, a second time, without its cookie, and to a foreign page', async () => {
    const context = await openProfile(browser)
    const page = await context.newPage()
    const callbacks: string[] = []
    page.on('request', (request) => request.url().includes('/callback') && callbacks.push(request.url()))
    await page.goto(`${site}/console/`)
    await page.getByRole('link', { name: 'Sign in with' }).click()
    const [kept] = (await context.cookies(site)).filter(({ name }) => name.includes('login'))
    await page.locator('[name=login]').fill('ann')
    await page.locator('[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    const callback = await eventually(() => callbacks[0])
    const ask = (address: string, cookie: string) => fetch(address, { headers: { cookie }, redirect: 'manual' })
    const { name, value } = kept ?? assert.fail('no cookie of the login')
    const begun = `${name}=${value}`
    const refused = [
      await ask(callback, begun),
      await ask(callback, ''),
      await ask(callback, `${name}=abc`),
      await ask(callback.replace(/state=[^&]+/, 'state=other'), begun),
      await ask(`${site}/v1/console/callback?error=access_denied&state=x`, begun),
    ]
    for (const response of refused) {
      assert.equal(response.status, 401)
      assert.match(await response.text(), /You are not signed in/)
      assert.ok(!response.headers.getSetCookie().some((each) => each.includes('anneal_session')))
    }
    for (const elsewhere of [
      'https://evil.example/console/',
      '//evil.example/console/',
      '/\\evil.example/console/',
      '/v1/keys',
      '/console/../v1/keys',
    ])
      assert.equal(
        (await ask(`${site}/v1/console/login?return_to=${encodeURIComponent(elsewhere)}`, '')).status,
        400,
        elsewhere,
      )
  })
})
