// Asks plain transformers and PEFT for the answers that ours must equal.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root, toolPath } from '../../../tools/paths.mjs'

export type Message = { role: string; content: string }
/** Without `marks` special tokens in a prompt are letters. */
export type Case = { most: number; repetition_penalty?: number } & (
  { messages: Message[] } | { prompt: string; marks?: boolean } | { ids: number[] }
)
export type Reference = {
  /** The prompt, and its text. */
  ids: number[]
  rendered: string
  /** The answer without its end token. */
  said: number[]
  text: string
  /** Whether the end token ended it. */
  ended: boolean
  /** Each value belongs to a token of the prompt but the first, or of the answer with its end token. */
  prompt_logprobs: number[]
  logprobs: number[]
}

const run = promisify(execFile)

/** Waits without blocking: a connection that the service closes meanwhile is not used again. */
async function inPython(args: string[], input = ''): Promise<string> {
  const running = run(toolPath('python'), args, {
    maxBuffer: 1 << 30,
    env: { ...process.env, PYTHONPATH: join(root, 'runtime'), OMP_NUM_THREADS: '2' },
  })
  running.child.stdin?.end(input)
  return (await running).stdout
}

/** The folder of the catalogue's base model, which the service has converted. */
export async function baseFolder(): Promise<string> {
  const { models } = JSON.parse(readFileSync(join(root, 'test/real-model/models.json'), 'utf8')) as {
    models: { source: object }[]
  }
  const find = [
    'import json, sys; from pathlib import Path; from anneal_runtime.model_source import locate',
    'print(locate(json.loads(sys.argv[1]), Path(sys.argv[2])))',
  ]
  const printed = await inPython(['-c', find.join('\n'), JSON.stringify(models[0]?.source), root])
  return printed.trim().split('\n').at(-1) as string
}

export async function referenceOf(
  folder: string,
  cases: readonly Case[],
  { adapter, texts = [] }: { adapter?: string; texts?: string[] } = {},
) {
  const program = join(root, 'test/real-model/support/reference.py')
  return JSON.parse(await inPython([program], JSON.stringify({ folder, adapter, cases, texts }))) as {
    cases: Reference[]
    vectors: number[][]
  }
}
