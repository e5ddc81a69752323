// How a program loads an exported model and asks it: the part of the card that somebody copies.
import type { CatalogueEntry } from './catalogue.ts'
import type { Learned } from './learned.ts'
import { fenced, inline } from './markdown.ts'
import type { ExportFormat } from './model-export.ts'

type Loaded = { base: Pick<CatalogueEntry, 'name' | 'source'>; learned: Learned | null }

/** A longer system message is left to the reader. */
const mostSystemCharacters = 2000

export function loadCode({ base, learned }: Loaded, format: ExportFormat): string {
  const code = format === 'adapter' ? loadAdapter(base) : loadMerged
  const where = format === 'adapter' ? whereTheBaseIs(base) : ''
  return `Set \`folder\` to the folder of this file.${where}\n\n${fenced('python', [...code, ...ask(learned)].join('\n'))}`
}

const loadMerged = [
  'from transformers import AutoModelForCausalLM, AutoTokenizer',
  '',
  'folder = "."',
  'model = AutoModelForCausalLM.from_pretrained(folder)',
  'tokenizer = AutoTokenizer.from_pretrained(folder)',
]

function loadAdapter({ source }: Loaded['base']): string[] {
  const revision = 'hub' in source && source.revision !== undefined ? `, revision=${python(source.revision)}` : ''
  return [
    'from peft import PeftModel',
    'from transformers import AutoModelForCausalLM, AutoTokenizer',
    '',
    'folder = "."',
    `base = ${'hub' in source ? python(source.hub) : '"FOLDER-OF-THE-BASE"'}`,
    `model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base${revision}), folder)`,
    `tokenizer = AutoTokenizer.from_pretrained(base${revision})`,
  ]
}

function whereTheBaseIs({ name, source }: Loaded['base']): string {
  if ('hub' in source) return ''
  const needed = ` The weights of the base are no part of this export, so set \`base\` to a folder with ${inline(name)} as transformers loads it.`
  return `${needed} ${originOf(source)} A merged export of this model needs no base.`
}

/** Without the paths of the machine that trained. */
function originOf(source: Exclude<CatalogueEntry['source'], { hub: string }>): string {
  if ('path' in source) return 'The installation that trained the model has the base in its own files.'
  if ('gguf' in source)
    return `The base was converted from the file \`${source.gguf}\` of the Python package \`${source.package}\` ${source.version}.`
  return `The base comes from the Python package \`${source.package}\`.`
}

function ask(learned: Learned | null): string[] {
  const isChat = learned?.form === 'conversations'
  return [
    '',
    ...(isChat
      ? chatOf(learned.systemMessage)
      : ['tokens = tokenizer("Your prompt", return_tensors="pt")["input_ids"]']),
    'answer = model.generate(tokens, max_new_tokens=64)',
    'print(tokenizer.decode(answer[0, tokens.shape[1]:], skip_special_tokens=True))',
  ]
}

function chatOf(systemMessage: string | null): string[] {
  const system = systemMessage !== null && systemMessage.length <= mostSystemCharacters ? systemMessage : null
  return [
    'chat = [',
    ...(system === null ? [] : [`    {"role": "system", "content": ${python(system)}},`]),
    '    {"role": "user", "content": "Your question"},',
    ']',
    'tokens = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")["input_ids"]',
  ]
}

/** Python reads a string as JSON writes it. */
const python = (text: string) => JSON.stringify(text)
