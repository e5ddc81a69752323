// The files of a tuned model: `anneal models download` and `anneal models export`.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { invocationDir } from '../../../tools/paths.mjs'
import type { Options } from '../command.ts'
import { CommandError } from '../command-error.ts'
import type { Client } from './client.ts'
import { downloadFiles, type LinkedFile } from './download-files.ts'
import type { Invocation } from './remote-verb.ts'

const base = '/v1/models'
const lookAgainMs = 1000

export const to = {
  to: { value: 'DIR', says: 'download into this folder, and check each hash; a repeat goes on where it was' },
} as const satisfies Options

/** The answer of the service, for `--output json`, and its links. */
type ModelFiles = { answer: { model_name: string }; files: LinkedFile[] }
type FindFiles = (client: Client, name: string) => Promise<ModelFiles>

export async function printOrDownload(
  { client, args: [name = ''], values: { to: folder }, print, isJson, signal }: Invocation<typeof to>,
  find: FindFiles,
): Promise<void> {
  const found = await find(client, name)
  if (folder === undefined) {
    print(found.answer, () => found.files.map(({ name: file, url }) => `${file}\t${url}`).join('\n'))
    return
  }
  const target = resolve(invocationDir, folder)
  const { model_name: modelName } = found.answer
  let first: LinkedFile[] | null = found.files
  const files = await downloadFiles({
    folder: target,
    // A name may lead to another version by the time that new links are needed; the id of the model does not.
    linksOf: async () => {
      const links = first ?? (await find(client, modelName)).files
      first = null
      return links
    },
    // A card is written anew when the scores have changed. It names the id of its model.
    isEarlier: ({ name, path }) => name === 'README.md' && readFileSync(path, 'utf8').includes(modelName),
    say: (line) => (isJson ? undefined : console.error(line)),
    signal,
  })
  const told = files.map(({ sizeBytes, ...file }) => ({ ...file, size_bytes: sizeBytes }))
  print({ model_name: modelName, folder: target, files: told }, () => `${files.length} files are in ${target}.`)
}

export async function adapterFiles(client: Client, name: string): Promise<ModelFiles> {
  const answer = await client.get(`${base}/:name/download`, { params: { name } })
  return { answer, files: answer.files.map(({ size, ...file }) => ({ ...file, sizeBytes: size })) }
}

/** Waits until the merged files are there. */
export async function mergedFiles(client: Client, name: string): Promise<ModelFiles> {
  const { id } = await client.post(`${base}/:name/export`, { params: { name }, body: { format: 'merged' } })
  for (;;) {
    const answer = await client.get(`${base}/:name/exports/:export_id`, { params: { name, export_id: id } })
    if (answer.status === 'COMPLETED')
      return { answer, files: answer.files.map(({ size_bytes: sizeBytes, ...file }) => ({ ...file, sizeBytes })) }
    if (answer.status === 'FAILED') throw new CommandError(answer.message ?? 'The export failed.')
    await sleep(lookAgainMs)
  }
}
