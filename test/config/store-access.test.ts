import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readStoreAccess } from '../../src/config/store-access.ts'

const webIdentity = {
  AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token',
  AWS_ROLE_ARN: 'arn:aws:iam::1:role/anneal',
  AWS_REGION: 'eu-central-1',
}

suite('the keys of the object store', () => {
  test('static ones win over what a platform offers, as in every installation so far', () => {
    const keys = { S3_ACCESS_KEY: 'key', S3_SECRET_KEY: 'secret' }
    assert.deepEqual(readStoreAccess({ ...webIdentity, ...keys }), { accessKey: 'key', secretKey: 'secret' })
  })

  test('come from the environment, a web identity, a container or the instance, in this order', () => {
    const environment = {
      S3_CREDENTIALS: 'instance',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/var/run/pod-token',
      ...webIdentity,
      AWS_ACCESS_KEY_ID: 'ambient',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'token',
    }
    const kinds: string[] = []
    for (const gone of ['AWS_ACCESS_KEY_ID', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_CONTAINER_CREDENTIALS_FULL_URI', '']) {
      const access = readStoreAccess(environment)
      kinds.push('credentials' in access ? access.credentials.kind : `${access.accessKey} ${access.sessionToken}`)
      if (gone === 'AWS_ACCESS_KEY_ID') Object.assign(environment, { AWS_SECRET_ACCESS_KEY: '' })
      Object.assign(environment, { [gone]: undefined })
    }
    assert.deepEqual(kinds, ['ambient token', 'web-identity', 'container', 'instance'])
  })

  test('the STS is that of the region, or the one that is named', () => {
    const stsOf = (more: object) => {
      const access = readStoreAccess({ ...webIdentity, ...more })
      return 'credentials' in access && access.credentials.kind === 'web-identity' && access.credentials.stsUrl
    }
    assert.equal(stsOf({}), 'https://sts.eu-central-1.amazonaws.com')
    assert.equal(stsOf({ AWS_REGION: 'cn-north-1' }), 'https://sts.cn-north-1.amazonaws.com.cn')
    assert.equal(stsOf({ AWS_ENDPOINT_URL_STS: 'https://minio:9000' }), 'https://minio:9000')
  })

  test('none, or half a pair, is refused with what to set', () => {
    assert.throws(() => readStoreAccess({}), /S3_ACCESS_KEY and S3_SECRET_KEY, a web identity/)
    assert.throws(
      () => readStoreAccess({ ...webIdentity, S3_ACCESS_KEY: 'key' }),
      /set both S3_ACCESS_KEY and S3_SECRET/,
    )
    assert.throws(() => readStoreAccess({ AWS_SECRET_ACCESS_KEY: 's' }), /set both AWS_ACCESS_KEY_ID and AWS_SECRET/)
  })
})
