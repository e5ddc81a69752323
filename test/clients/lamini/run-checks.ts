// Runs a script of checks with a release of the SDK in an environment of its own, as a user would: by two variables.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { clientEnv } from '../../../tools/setup/client-env.mjs'
import { checksOf } from '../../support/client-checks.ts'
import { connection, openAccount } from '../../support/stack.ts'

const folder = join(root, 'test/clients/lamini')

/** A suite with a test for each check of the script. */
export function expectChecks(version: string, script: string) {
  suite(`lamini ${version}`, async () => {
    const env = await clientEnv(join(folder, `requirements-${version}.txt`))
    const { results, chatter } = await checksOf(join(env, 'bin/python'), [join(folder, script)], {
      HOME: env,
      LAMINI_API_URL: connection().apiUrl,
      LAMINI_API_KEY: (await openAccount()).apiKey,
      BASE_MODEL: connection().baseModel,
      SAMPLE_FILE: join(root, 'models/samples/products.jsonl'),
    })
    for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
    test('ran all its checks', () => assert.ok(results.length >= 6, chatter))
  })
}
