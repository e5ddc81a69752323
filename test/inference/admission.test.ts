import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAdmission } from '../../src/inference/admission.ts'

const limits = { all: { prompts: 100, requests: 10 }, account: { prompts: 70, requests: 4 } }
const beyondLimit = (what: string) => ({
  code: 'quota_exceeded',
  retryAfterSeconds: 5,
  message: new RegExp(`${what} under way`),
})
const beyondShare = (what: string) => ({
  code: 'unavailable',
  retryAfterSeconds: 5,
  message: new RegExp(`have ${what} under way`),
})

describe('the admission of requests', () => {
  it('refuses requests beyond the limit of an account, and none of other accounts', () => {
    const admit = createAdmission(limits)
    admit('greedy', 50)
    assert.throws(() => admit('greedy', 21), beyondLimit('70 prompts'))
    admit('greedy', 0)
    admit('greedy', 0)
    admit('greedy', 0)
    assert.throws(() => admit('greedy', 0), beyondLimit('4 requests'))
    admit('other', 50)
  })

  it('leaves each account its equal share of a full process', () => {
    const admit = createAdmission(limits)
    admit('a', 60)
    admit('b', 30)
    admit('c', 5)
    assert.throws(() => admit('a', 6), beyondShare('33 prompts'))
    admit('c', 28)
    assert.throws(() => admit('c', 1), beyondShare('33 prompts'))
    admit('b', 3)
    assert.throws(() => admit('b', 1), beyondShare('33 prompts'))
  })

  it('always lets in an account that has nothing under way, and counts its requests in a full process', () => {
    const admit = createAdmission(limits)
    for (let account = 0; account < 20; account++) admit(`account ${account}`, 100)
    assert.throws(() => admit('account 0', 1), { code: 'quota_exceeded' })
    admit('small', 1)
    assert.throws(() => admit('small', 1), { code: 'unavailable' })
  })

  it('gives back the places of a request that has ended', () => {
    const admit = createAdmission(limits)
    const release = admit('a', 50)
    const keep = admit('a', 10)
    assert.throws(() => admit('a', 11), { code: 'quota_exceeded' })
    release()
    admit('a', 50)
    keep()
  })
})
