// The files of base models on the machine of the api and the worker, which take a tokenizer and its chat template from there.
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Catalogue, CatalogueEntry } from '../domain/catalogue.ts'

type Folders = { ANNEAL_MODELS_DIR?: string | undefined; ANNEAL_MODEL_CACHE?: string | undefined }

/** The folders of all completion models that may be on this machine. A model in GGUF has one after its first use. */
export const tokenizersOf = ({ entries }: Catalogue, env: Folders) =>
  entries.flatMap((entry) => {
    const folder = entry.task === 'completion' ? folderOf(entry, env) : null
    return folder === null ? [] : [{ name: entry.name, folder }]
  })

/** Whether the model has a chat template; undefined when its files are not here. */
export function findTemplate(entry: CatalogueEntry, env: Folders): boolean | undefined {
  const folder = folderOf(entry, env)
  const config = folder === null ? null : join(folder, 'tokenizer_config.json')
  if (folder === null || config === null || !existsSync(config)) return undefined
  if (existsSync(join(folder, 'chat_template.jinja'))) return true
  const { chat_template: template } = JSON.parse(readFileSync(config, 'utf8')) as { chat_template?: unknown }
  return Boolean(template)
}

function folderOf({ source }: CatalogueEntry, env: Folders): string | null {
  if ('gguf' in source) return convertedFolder(source.sha256, env)
  if (!('path' in source) || source.path.endsWith('.gguf')) return null
  return resolve(env.ANNEAL_MODELS_DIR ?? '.', source.path)
}

/** Where runtime/anneal_runtime/gguf_model.py writes a model in GGUF. */
const convertedFolder = (
  sha256: string,
  { ANNEAL_MODEL_CACHE: cache = join(homedir(), '.cache/anneal/models') }: Folders,
) => join(cache, `gguf-${sha256}-2`)
