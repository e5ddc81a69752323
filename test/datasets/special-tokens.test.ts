import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createSpecialTokens } from '../../src/datasets/special-tokens.ts'
import { loadTokenizer } from '../../src/datasets/token-sample.ts'

const tiny = loadTokenizer({ name: 'anneal-tiny', folder: 'models/anneal-tiny' }) ?? assert.fail()
const special = ['<pad>', '<s>', '</s>']
const isSpecial = (id: number) => id < special.length

/** Each has every special token, whole and in parts. */
const hostile = (number: number) =>
  [...special, '<', '/s>', '</', 'é', ' ', '💡', String(number)]
    .map((part, index) => ({ part, at: (number * 7919 + index * 104_729) % 97 }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ part }) => part)
    .join('')

test('no special token comes from a text, and each comes from a prompt', () => {
  for (let number = 0; number < 1000; number++) {
    const text = hostile(number)
    assert.equal(tiny.encode(text).some(isSpecial), false, text)
    assert.equal(tiny.encode(tiny.specialTokens.swapped(text)).filter(isSpecial).length, special.length, text)
  }
})

test('shows a prompt as it was written, and where tokens act', () => {
  const { swapped, shown } = tiny.specialTokens
  assert.deepEqual(shown(swapped('é<s>a')), { text: 'é<s>a', special: [{ from: 1, to: 4 }] })
  assert.deepEqual(shown('é<s>a'), { text: 'é<s>a', special: [] })
})

test('tokens that only a template spells act in the texts of an assistant alone', () => {
  const files = {
    tokenizer: { ...readTiny('tokenizer.json'), added_tokens: [{ id: 1023, content: '<think>', special: false }] },
    config: {},
    template: '{{ messages[0].content }}<think>',
  }
  const { hidden, written } = createSpecialTokens(files)
  assert.notEqual(hidden('<think>', { isAssistants: false }), '<think>')
  assert.equal(hidden('<think>', { isAssistants: true }), '<think>')
  assert.notEqual(written('<think>'), '<think>')
})

const readTiny = (name: string) =>
  JSON.parse(readFileSync(`models/anneal-tiny/${name}`, 'utf8')) as Record<string, unknown>
