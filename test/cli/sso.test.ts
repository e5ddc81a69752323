// `anneal login --sso` with a real identity provider, and a service that checks tokens as ours does.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { pino } from 'pino'
import type { Profiles, SignedIn } from '../../src/cli/remote/profiles.ts'
import { createIssuer } from '../../src/sign-in/issuer.ts'
import { verifyToken } from '../../src/sign-in/verify-token.ts'
import { root } from '../../tools/paths.mjs'
import { eventually } from '../support/eventually.ts'
import { cliClientId, startProvider } from '../support/provider.ts'
import { visit } from '../support/provider-visit.ts'

const folder = mkdtempSync(join(tmpdir(), 'anneal-sso-'))
after(() => rmSync(folder, { recursive: true }))
const { ANNEAL_URL: _url, ANNEAL_API_KEY: _key, DISPLAY: _display, ...inherited } = process.env

const person = { login: 'ann', password: 'any' }

async function startWorld(context: TestContext, { idTokenSeconds = 3600, isSignInOff = false } = {}) {
  const groups = { ann: ['ml'], eve: [], joe: ['ml', 'sales'] }
  const provider = await startProvider({
    site: 'http://site.invalid',
    groups,
    idTokenSeconds,
    groupsAre: 'in the token',
  })
  const issuer = createIssuer(
    { issuer: new URL(provider.url), clientId: null, clientSecret: undefined },
    pino({ level: 'silent' }),
  )
  const refused = new Set<string>()
  const seen: { subject: string; account: unknown }[] = []
  const shown = {
    issuer: provider.url,
    cli_client_id: cliClientId,
    audience: 'anneal',
    scopes: 'openid profile email groups',
  }
  const server = createServer((request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/v1/sign-in') return send(200, { provider: isSignInOff ? null : shown })
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const rules = { issuer: provider.url, audiences: [cliClientId], groupsClaim: 'groups' }
    verifyToken(token, rules, issuer).then(
      ({ subject, groups: [group, another] }) => {
        if (refused.delete(token))
          return send(401, { detail: 'invalid token: the token of the identity provider is refused.' })
        if (!group) return send(401, { detail: 'invalid token: none of its 0 groups has a role here' })
        const account = request.headers['x-anneal-account']
        if (another !== undefined && account === undefined)
          return send(400, { detail: 'X-Anneal-Account is missing: you have several accounts. Send one of ml, sales.' })
        seen.push({ subject, account })
        return send(200, [])
      },
      (error: Error) => send(401, { detail: error.message }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = mkdtempSync(join(folder, 'user-'))
  const file = join(config, 'anneal/profiles.json')
  context.after(async () => {
    server.closeAllConnections()
    server.close()
    await provider.stop()
  })
  const signedIn = () => {
    const profile = Object.values((JSON.parse(readFileSync(file, 'utf8')) as Profiles).profiles)[0]
    return profile && 'signedIn' in profile ? profile.signedIn : assert.fail('nobody is signed in')
  }
  const anneal = (...args: string[]) => startCommand(args, { XDG_CONFIG_HOME: config, BROWSER: 'true' })
  return { provider, url, file, refused, seen, anneal, signedIn }
}

function startCommand(args: string[], environment: Record<string, string>) {
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), ...args], { env: { ...inherited, ...environment } })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (said.out += String(chunk)))
  child.stderr.on('data', (chunk) => (said.err += String(chunk)))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...said }))
  /** The first group in what the command has said, which goes on. */
  const finds = (pattern: RegExp) =>
    eventually(() => {
      const found = pattern.exec(said.err)?.[1]
      if (found === undefined && child.exitCode !== null) assert.fail(`${said.err} does not match ${pattern}`)
      return found
    })
  return { ended, finds }
}

type World = Awaited<ReturnType<typeof startWorld>>

async function signIn({ anneal, url }: World, who = person, ...options: string[]) {
  const command = anneal('login', url, '--sso', ...options)
  const page = await visit(await command.finds(/(http\S+\/auth\?\S+)/), who)
  return { ...(await command.ended), page }
}

test('a browser that comes back signs in for the user alone, and later commands act as the person', async (context) => {
  const world = await startWorld(context)
  const command = world.anneal('login', world.url, '--sso', '--account', 'research')
  const address = await command.finds(/(http\S+\/auth\?\S+)/)
  const asked = new URL(address).searchParams
  assert.equal(asked.get('code_challenge_method'), 'S256')
  // Any page can send a browser to the address, and must not end the sign-in.
  const foreign = await fetch(`${asked.get('redirect_uri')}?code=stolen&state=of-another`)
  assert.equal(foreign.status, 400)
  assert.match((await visit(address, person)).text, /You may close this window/)
  const { code, out, err } = await command.ended
  assert.equal(code, 0, err)
  assert.match(out, /as "ann of the tests"/)
  assert.equal(statSync(world.file).mode & 0o777, 0o600)
  assert.equal((await world.anneal('jobs').ended).code, 0)
  assert.deepEqual(world.seen.at(-1), { subject: 'ann', account: 'research' })
})

test('a code that is typed in elsewhere signs in where no browser is', async (context) => {
  const world = await startWorld(context)
  const command = world.anneal('login', world.url, '--sso', '--device')
  const userCode = await command.finds(/the code {2}(\S+)/)
  await visit(await command.finds(/(http\S+)/), { ...person, user_code: userCode })
  const { code, err } = await command.ended
  assert.equal(code, 0, err)
  assert.notEqual(world.signedIn().refreshToken, null)
})

test('a person who refuses the code on the other device is not signed in', async (context) => {
  const world = await startWorld(context)
  const command = world.anneal('login', world.url, '--sso', '--device')
  const userCode = await command.finds(/the code {2}(\S+)/)
  await visit(await command.finds(/(http\S+)/), { ...person, user_code: userCode, abort: 'yes' })
  const { code, err } = await command.ended
  assert.equal(code, 1)
  assert.match(err, /has not confirmed the sign-in \(access_denied\)\. Sign in again\.\n$/)
  assert.match((await world.anneal('config').ended).out, /No profiles/)
})

test('somebody with several accounts is told to name one, and then works in it', async (context) => {
  const world = await startWorld(context)
  const joe = { ...person, login: 'joe' }
  const { code, err } = await signIn(world, joe)
  assert.equal(code, 1)
  assert.match(err, /--account is missing: you have several accounts\. Send one of ml, sales\.\n$/)
  assert.match((await world.anneal('config').ended).out, /No profiles/)
  assert.equal((await signIn(world, joe, '--account', 'sales')).code, 0)
  assert.deepEqual(world.seen.at(-1), { subject: 'joe', account: 'sales' })
})

test('commands that renew a token at once keep the sign-in, whose refresh tokens serve once', async (context) => {
  const world = await startWorld(context, { idTokenSeconds: 20 })
  assert.equal((await signIn(world)).code, 0)
  const first = world.signedIn()
  const all = await Promise.all([1, 2, 3].map(() => world.anneal('jobs').ended))
  for (const { code, err } of all) assert.equal(code, 0, err)
  assert.notEqual(world.signedIn().refreshToken, first.refreshToken)
  assert.equal((await world.anneal('jobs').ended).code, 0)
})

test('a token that the service refuses is renewed once', async (context) => {
  const world = await startWorld(context)
  assert.equal((await signIn(world)).code, 0)
  const { token, refreshToken } = world.signedIn()
  // Refused once: within a second the provider may sign the same token again.
  world.refused.add(token)
  const { code, err } = await world.anneal('jobs').ended
  assert.equal(code, 0, err)
  assert.equal(world.refused.size, 0)
  assert.notEqual(world.signedIn().refreshToken, refreshToken)
})

test('a sign-in that the provider has ended, and a provider that is away, are told in words', async (context) => {
  const world = await startWorld(context)
  assert.equal((await signIn(world)).code, 0)
  edit(world, { expiresAt: new Date(0).toISOString(), refreshToken: 'ended' })
  const ended = await world.anneal('jobs').ended
  assert.deepEqual(
    [ended.code, ended.err],
    [1, `Your sign-in has ended. Sign in again: anneal login ${world.url} --sso\n`],
  )
  await world.provider.stop()
  const away = await world.anneal('jobs').ended
  assert.equal(away.code, 3)
  assert.match(away.err, /^The identity provider http\S+ does not answer \(/)
})

test('a logout ends the refresh token at the provider and forgets it', async (context) => {
  const world = await startWorld(context)
  assert.equal((await signIn(world)).code, 0)
  const before = readFileSync(world.file, 'utf8')
  assert.equal((await world.anneal('logout').ended).code, 0)
  assert.doesNotMatch(readFileSync(world.file, 'utf8'), /refreshToken/)
  writeFileSync(world.file, before)
  edit(world, { expiresAt: new Date(0).toISOString() })
  assert.match((await world.anneal('jobs').ended).err, /Your sign-in has ended/)
})

test('a person without a role, and a service without a provider, keep no profile', async (context) => {
  const world = await startWorld(context)
  const command = world.anneal('login', world.url, '--sso')
  await visit(await command.finds(/(http\S+\/auth\?\S+)/), { ...person, login: 'eve' })
  const { code, err } = await command.ended
  assert.equal(code, 1)
  assert.match(err, /none of its 0 groups has a role here/)
  assert.match((await world.anneal('config').ended).out, /No profiles/)
  const without = await startWorld(context, { isSignInOff: true })
  assert.match((await without.anneal('login', without.url, '--sso').ended).err, /has no identity provider/)
})

test('a file of profiles that is broken is named, with what to do', async (context) => {
  const world = await startWorld(context)
  assert.equal((await signIn(world)).code, 0)
  for (const text of ['{broken', '[]', '{}', '{"current":"a","profiles":{"a":{}}}', '{"profiles":{"a":{"url":5}}}']) {
    writeFileSync(world.file, text)
    const { code, err } = await world.anneal('jobs').ended
    assert.deepEqual(
      [code, err.replace(world.file, '')],
      [1, ' cannot be read. Correct the file, or delete it and run anneal login again.\n'],
      text,
    )
  }
})

function edit({ file }: World, changes: Partial<SignedIn>) {
  const known = JSON.parse(readFileSync(file, 'utf8')) as Profiles
  for (const profile of Object.values(known.profiles))
    if ('signedIn' in profile) Object.assign(profile.signedIn, changes)
  writeFileSync(file, JSON.stringify(known))
}
