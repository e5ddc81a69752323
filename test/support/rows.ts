import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/paths.mjs'

type Row = { input: string; output: string }

/** The 40 made-up product facts of the demo. */
export const sampleFile = readFileSync(join(root, 'models/samples/products.jsonl'))
export const sampleRows = sampleFile
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Row)

/** A run of some seconds with a checkpoint every ten steps. Small batches: nobody asks how good the model is. */
export const shortRun = { max_steps: 60, save_steps: 10, batch_size: 4, seed: 7 }
