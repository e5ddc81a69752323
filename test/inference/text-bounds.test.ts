import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOutputType } from '../../src/domain/output-type.ts'
import { allowedCharacters, comfortableBound, shorter, tightBound } from '../../src/inference/text-bounds.ts'
import {
  characterBytes,
  createAnswerParser,
  maxDigits,
  stringFieldCount,
  structureBytes,
} from '../../src/inference/typed-output.ts'
import { processorMs } from '../support/processor-time.ts'
import { createRandom } from './support/random.ts'
import { randomFields } from './support/random-types.ts'

describe('the bounds of typed answers', () => {
  it('never let the longest answer exceed the context', () => {
    for (let seed = 0; seed < 3000; seed++) {
      const random = createRandom(seed)
      const fields = randomFields(random)
      const room = { contextLength: 64 + random.below(4000), promptTokens: random.below(3000) }
      const allowed = allowedCharacters(fields, random.pick([null, 1, 7, 256, 1_000_000]))
      for (const bound of [comfortableBound(fields, allowed, room), tightBound(fields, allowed, room)]) {
        if (!bound) continue
        assert.ok(bound.characters <= allowed, `seed ${seed}`)
        assert.ok(room.promptTokens + bound.maxTokens <= room.contextLength, `seed ${seed}`)
        if (!bound.isCertain) continue
        const longest = structureBytes(fields) + stringFieldCount(fields) * characterBytes * bound.characters
        assert.ok(longest < bound.maxTokens, `seed ${seed}: no token is left to end with`)
      }
    }
  })

  it('let max_tokens bound the text, not the numbers', () => {
    const text = { name: 'text', type: { kind: 'str' } } as const
    const number = { name: 'n', type: { kind: 'int' } } as const
    assert.equal(allowedCharacters([text], 10), 40)
    assert.equal(allowedCharacters([text, { ...text, name: 'more' }], 10), 20)
    assert.equal(allowedCharacters([text], 1_000_000), 4096)
    assert.equal(allowedCharacters([number], 1), 0)
    const bound = comfortableBound([number], 0, { contextLength: 1024, promptTokens: 10 })
    assert.equal(bound?.digits, maxDigits)
  })

  it('need few grammars for prompts of many lengths', () => {
    const fields = [{ name: 'text', type: { kind: 'str' } }] as const
    const bounds = Array.from({ length: 1000 }, (_, promptTokens) =>
      tightBound(fields, 1024, { contextLength: 1024, promptTokens }),
    )
    assert.ok(new Set(bounds.map((bound) => bound?.characters)).size <= 12)
  })

  it('look at a long list of values once for many prompts, as does the check of their answers', () => {
    const type = parseOutputType({ which: Array.from({ length: 5000 }, (_, index) => index) }) ?? assert.fail()
    const ms = processorMs(() => {
      const parse = createAnswerParser(type)
      for (let prompt = 0; prompt < 5000; prompt++) {
        assert.ok(comfortableBound(type, 0, { contextLength: 2048, promptTokens: prompt % 100 }))
        assert.equal(parse(`{"which":${prompt}}`)?.['which'], prompt)
      }
    })
    // Looking at each value for each prompt took 7,000 ms.
    assert.ok(ms < 700, `${ms} ms`)
  })

  it('hope where certainty is impossible, with shorter values at each try', () => {
    const fields = Array.from({ length: 60 }, (_, at) => ({ name: `f${at}`, type: { kind: 'float' } }) as const)
    const bound = tightBound(fields, 0, { contextLength: 1024, promptTokens: 10 })
    assert.ok(bound && !bound.isCertain)
    assert.ok(shorter(bound).digits < bound.digits && shorter(shorter(shorter(shorter(bound)))).digits >= 1)
    assert.equal(tightBound(fields, 0, { contextLength: 1024, promptTokens: 1000 }), null)
  })
})
