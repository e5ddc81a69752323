// figures/published.json holds the scores of the same answers by sacrebleu, by rouge-score and by the rules of SQuAD's script.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { exactMatch, rougeL, tokenF1 } from '../../src/grading/text-scores.ts'
import { bleu, chrf } from '../../src/grading/translation-scores.ts'

type Row = { output: string; expected: string } & Record<'bleu' | 'chrf' | 'rouge_l' | 'exact_match' | 'f1', number>
const { rows } = JSON.parse(readFileSync(new URL('./figures/published.json', import.meta.url), 'utf8')) as {
  rows: Row[]
}

const scorers = {
  bleu: (output: string, expected: string) => 100 * bleu(output, expected),
  chrf: (output: string, expected: string) => 100 * chrf(output, expected),
  rouge_l: rougeL,
  exact_match: exactMatch,
  f1: tokenF1,
}

for (const [name, score] of Object.entries(scorers))
  test(`gives the published scorer's ${name} for each answer`, () => {
    assert(rows.length >= 20)
    for (const row of rows) {
      const ours = score(row.output, row.expected)
      const theirs = row[name as keyof typeof scorers]
      assert(Math.abs(ours - theirs) < 1e-6, `${JSON.stringify(row.output)}: ${ours}, not ${theirs}`)
    }
  })
