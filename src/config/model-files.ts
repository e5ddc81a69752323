// The files of base models on the machine of the api and the worker, which take a tokenizer and its chat template from there.
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Catalogue, CatalogueEntry, ModelFiles } from '../domain/catalogue.ts'
import type { ModelShape } from '../domain/training-memory.ts'

type Folders = { ANNEAL_MODELS_DIR?: string | undefined; ANNEAL_MODEL_CACHE?: string | undefined }

/** The folders of all completion models that may be on this machine. A model in GGUF has one after its first use. */
export const tokenizersOf = ({ entries }: Catalogue, env: Folders) =>
  entries.flatMap((entry) => {
    const folder = entry.task === 'completion' ? folderOf(entry, env) : null
    return folder === null ? [] : [{ name: entry.name, folder }]
  })

/** Reads the files of the model. The answer is empty when the files are not on this machine. */
export function readModelFiles(entry: CatalogueEntry, env: Folders): ModelFiles {
  const folder = folderOf(entry, env)
  if (folder === null || !existsSync(join(folder, 'tokenizer_config.json'))) return {}
  const shape = existsSync(join(folder, 'config.json')) ? shapeIn(readJson(join(folder, 'config.json'))) : undefined
  const hasTemplate =
    existsSync(join(folder, 'chat_template.jinja')) ||
    Boolean(readJson(join(folder, 'tokenizer_config.json'))['chat_template'])
  return { chatTemplate: hasTemplate, ...(shape && { shape }) }
}

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>

/** Undefined for a model that is not like a Llama. */
function shapeIn(config: Record<string, unknown>): ModelShape | undefined {
  const number = (name: string) => (typeof config[name] === 'number' ? config[name] : undefined)
  const [hiddenSize, layers, heads] = [
    number('hidden_size'),
    number('num_hidden_layers'),
    number('num_attention_heads'),
  ]
  const [intermediateSize, vocabularySize] = [number('intermediate_size'), number('vocab_size')]
  if (!hiddenSize || !layers || !heads || !intermediateSize || !vocabularySize) return undefined
  const headSize = number('head_dim') ?? hiddenSize / heads
  return {
    ...{ hiddenSize, layers, intermediateSize, vocabularySize },
    queryWidth: heads * headSize,
    keyWidth: (number('num_key_value_heads') ?? heads) * headSize,
    sharesEmbeddings: config['tie_word_embeddings'] === true,
  }
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
