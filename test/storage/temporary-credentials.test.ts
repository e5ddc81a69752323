import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test, type TestContext } from 'node:test'
import { isOutage } from '../../src/domain/outage.ts'
import type { CredentialSource } from '../../src/storage/fetch-credentials.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { TemporaryCredentials } from '../../src/storage/temporary-credentials.ts'
import { eventually } from '../support/eventually.ts'
import { instanceRole, startSmallSts } from './support/small-sts.ts'

async function begin(t: TestContext, { seconds }: { seconds: number }) {
  const sts = await startSmallSts({ seconds })
  t.after(() => sts.close())
  const tokenFile = join(await mkdtemp(join(tmpdir(), 'anneal-token-')), 'token')
  await writeFile(tokenFile, 'first\n')
  const source: CredentialSource = {
    ...{ kind: 'web-identity', stsUrl: sts.url, tokenFile, roleArn: 'arn:aws:iam::1:role/anneal' },
    ...{ sessionName: 'anneal', seconds: undefined },
  }
  return { sts, tokenFile, source }
}

suite('credentials that end', () => {
  test('one request serves all that need new credentials at the same time', async (t) => {
    const { sts, source } = await begin(t, { seconds: 600 })
    const credentials = new TemporaryCredentials(source)
    const all = await Promise.all(Array.from({ length: 50 }, () => credentials.getCredentials()))
    assert.equal(new Set(all.map((each) => each.getAccessKey())).size, 1)
    assert.equal(sts.state.asked, 1)
  })

  test('are renewed before they end, with the token that the file holds then', async (t) => {
    const { sts, source, tokenFile } = await begin(t, { seconds: 3 })
    const credentials = new TemporaryCredentials(source)
    const first = (await credentials.getCredentials()).getAccessKey()
    await writeFile(tokenFile, 'second')
    await eventually(async () => {
      const key = (await credentials.getCredentials()).getAccessKey()
      assert.ok((sts.sessions.get(key)?.endMs ?? 0) > Date.now(), 'handed out after their end')
      return key !== first
    })
    assert.deepEqual(sts.state.tokens.slice(0, 2), ['first', 'second'])
  })

  test('serve to their end while nobody gives new ones, and then the request counts as an outage', async (t) => {
    const { sts, source } = await begin(t, { seconds: 5 })
    const credentials = new TemporaryCredentials(source)
    const first = (await credentials.getCredentials()).getAccessKey()
    const { endMs } = sts.sessions.get(first) ?? assert.fail()
    sts.state.refusal = { status: 403, body: '<Error><Code>InvalidIdentityToken</Code></Error>' }
    const error = await eventually(async () => {
      const failure = await credentials.getCredentials().then(
        (each) => assert.equal(each.getAccessKey(), first) ?? null,
        (reason: Error) => reason,
      )
      return failure
    })
    // A tenth of the life is kept back, and the STS tells whole seconds.
    assert.ok(Date.now() > endMs - 2000, 'refused long before the end')
    assert.match(error.message, /web-identity.* answered 403: .*InvalidIdentityToken/)
    assert.ok(isOutage(new Error('Unable to get credentials', { cause: error })))
  })

  test('an answer without credentials names the service', async (t) => {
    const { sts, source } = await begin(t, { seconds: 3 })
    sts.state.refusal = { status: 200, body: '<html/>' }
    await assert.rejects(new TemporaryCredentials(source).getCredentials(), (error: Error) =>
      error.message.includes(`${sts.url} answered without a key`),
    )
  })

  test("those of a container's agent and of the instance are read as Amazon writes them", async (t) => {
    const { sts, tokenFile } = await begin(t, { seconds: 600 })
    const sources: CredentialSource[] = [
      { kind: 'container', url: `${sts.url}/v1/credentials`, token: undefined, tokenFile },
      { kind: 'instance', url: sts.url },
    ]
    for (const source of sources) {
      const credentials = await new TemporaryCredentials(source).getCredentials()
      const { secretKey, sessionToken } = sts.sessions.get(credentials.getAccessKey()) ?? assert.fail(instanceRole)
      assert.deepEqual([credentials.getSecretKey(), credentials.getSessionToken()], [secretKey, sessionToken])
    }
    assert.deepEqual(sts.state.tokens, ['first', 'imds-token'])
  })
})

test('a URL says that it ends with its credentials, and carries their session token', async (t) => {
  const { sts, source } = await begin(t, { seconds: 600 })
  const storage = createStorage({
    ...{ endpoint: 'http://127.0.0.1:1', region: 'us-east-1', bucket: 'bucket', credentials: source },
    publicEndpoint: 'https://files.example.com',
  })
  assert.ok((await storage.podUrlSeconds()) <= 600)
  for (const url of [await storage.presignUpload('a'), await storage.presignPodGet('a')]) {
    const query = new URL(url).searchParams
    const session = sts.sessions.get(query.get('X-Amz-Credential')?.split('/')[0] ?? '') ?? assert.fail(url)
    assert.equal(query.get('X-Amz-Security-Token'), session.sessionToken)
    const seconds = Number(query.get('X-Amz-Expires'))
    assert.ok(seconds > 500 && Date.now() + seconds * 1000 <= session.endMs + 1000, `${seconds}`)
  }
})
