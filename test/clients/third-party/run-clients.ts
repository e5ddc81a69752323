// Runs clients of other makers, each in an environment of its own, and keeps what each can do.
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, toolPath } from '../../../tools/paths.mjs'
import { clientEnv, clientPackages } from '../../../tools/setup/client-env.mjs'
import { checksOf } from '../../support/client-checks.ts'
import { connection, openAccount } from '../../support/stack.ts'

export type Feature = { check: string; error: string | null; refused: string | null }
export type Client = { name: string; script: string } & ({ requirements: string } | { packages: string })

const source = join(root, 'test/clients/third-party')

/** Runs the script of a client in a folder of its own, on an account of its own. `tokenizer`: the folder of the base model. */
export async function featuresOf(client: Client, tokenizer = join(root, 'models/anneal-tiny')) {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-client-'))
  try {
    const command = await prepare(client, folder)
    const { apiKey } = await openAccount()
    const found = await checksOf(command, [join(folder, client.script.split('/').at(-1) ?? '')], {
      OPENAI_BASE_URL: `${connection().apiUrl}/openai/v1`,
      OPENAI_API_KEY: apiKey,
      BASE_MODEL: connection().baseModel,
      TOKENIZER: tokenizer,
      // A Python with PyTorch, which clients lack.
      TORCH_PYTHON: toolPath('python'),
      HOME: folder,
    })
    return { ...found, results: found.results as Feature[] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns the program that runs the script */
async function prepare(client: Client, folder: string): Promise<string> {
  const copy = (file: string) => copyFileSync(join(source, file), join(folder, file.split('/').at(-1) ?? ''))
  copy(client.script)
  if ('requirements' in client) {
    copy('features.py')
    return join(await clientEnv(join(source, client.requirements), { space: '2 GB' }), 'bin/python')
  }
  copy('features.mjs')
  symlinkSync(join(await clientPackages(join(source, client.packages)), 'node_modules'), join(folder, 'node_modules'))
  return process.execPath
}
