import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { createTokenSample } from '../../src/datasets/token-sample.ts'
import { root, toolPath } from '../../tools/paths.mjs'

const tiny = { name: 'anneal-tiny', folder: `${root}/models/anneal-tiny` }

test('a sample of any text counts as the trainer counts', () => {
  const texts = ['Hello 123', 'Wie heißt "das"?\n🦙', '', ' \t ', 'a'.repeat(500), 'The price is 12 euros. '.repeat(20)]
  const program = `import json, sys
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
print(json.dumps([len(tokenizer.encode(text, add_special_tokens=False).ids) for text in json.load(sys.stdin)]))`
  const counted = execFileSync(toolPath('python'), ['-c', program, `${tiny.folder}/tokenizer.json`], {
    input: JSON.stringify(texts),
  })
  const ours = texts.map((output) => {
    const sample = createTokenSample()
    sample.add({ input: '', output })
    return sample.measure(tiny, 10)?.output.max
  })
  assert.deepEqual(ours, JSON.parse(counted.toString()))
})
