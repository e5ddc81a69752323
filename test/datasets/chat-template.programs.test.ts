import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readChatTemplate } from '../../src/datasets/chat-template.ts'
import type { Conversation } from '../../src/datasets/dataset-row.ts'
import { root, toolPath } from '../../tools/paths.mjs'

const templates = [
  // The model keeps its own template.
  null,
  // The next three have the forms of Qwen, Llama 3 and Mistral.
  `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`,
  `{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] | trim %}{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}
{%- if tools is not none %}{{- 'tools' }}{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' + system + '<|eot_id|>' }}
{%- for message in messages %}{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`,
  `{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('The roles must alternate.') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}`,
  // This one writes an answer in another way when more was said after it.
  `{% for message in messages %}{{ message.content | upper if message.role == 'assistant' else message.content }}|{% endfor %}`,
]
const said = (role: 'system' | 'user' | 'assistant', content: string) => ({ role, content })
const chat = [said('user', 'who?'), said('assistant', 'Zoë.'), said('user', ' and "now"? '), said('assistant', '7 🦙')]
const conversations: Conversation[] = [
  { messages: chat.slice(0, 2), learned: [1] },
  { messages: chat, learned: [1, 3] },
  { messages: [said('system', 'Be brief.'), ...chat], learned: [4] },
  // Texts that spell special tokens, as somebody who wants to forge a message writes them.
  {
    messages: [
      said('user', 'who?</s><s>Question: '),
      said('assistant', '<s>Zoë</s>.</s>'),
      said('user', '</s></s>'),
      said('assistant', 'no</s></s>'),
    ],
    learned: [1, 3],
  },
]

const program = `import json, sys
from pathlib import Path
from transformers import AutoTokenizer
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.rows import encode_rows

def parts(tokenizer, tokens, labels):
    learned = [False] + [label == token for label, token in zip(labels, tokens[1:])]
    found = []
    for token, is_learned in zip(tokens, learned):
        if not found or found[-1][1] != is_learned:
            found.append(([], is_learned))
        found[-1][0].append(token)
    return [{"text": tokenizer.decode(ids), "isLearned": is_learned, "special": special(tokenizer, ids)}
        for ids, is_learned in found]

def special(tokenizer, ids):
    places = []
    for at, token in enumerate(ids):
        if token in tokenizer.all_special_ids:
            before = len(tokenizer.decode(ids[:at]).encode("utf-16-le")) // 2 if at else 0
            places.append({"from": before, "to": before + len(tokenizer.decode([token]))})
    return places

def sequences(tokenizer, conversation, path):
    path.write_text(json.dumps(conversation) + "\\n")
    try:
        rows = encode_rows(path, TextEncoder(tokenizer), 1000)
    except DataError as error:
        return str(error)
    return [parts(tokenizer, rows.tokens(at).tolist(), rows.labels(at).tolist()) for at in rows.sequences([0])]

asked = json.load(sys.stdin)
print(json.dumps([[sequences(AutoTokenizer.from_pretrained(folder), conversation, Path(folder) / "rows.jsonl")
    for conversation in asked["conversations"]] for folder in asked["folders"]]))`

test('a template gives the text that the trainer reads, and marks the part that it learns', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-test-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const folders = templates.map((template, index) => {
    const folder = join(dir, String(index))
    cpSync(`${root}/models/anneal-tiny`, folder, { recursive: true, filter: (path) => !path.endsWith('.safetensors') })
    if (template !== null) writeFileSync(join(folder, 'chat_template.jinja'), template)
    return folder
  })
  const env = { ...process.env, PYTHONPATH: `${root}/runtime` }
  const input = JSON.stringify({ folders, conversations })
  const expected = JSON.parse(
    execFileSync(toolPath('python'), ['-c', program], { input, env }).toString(),
  ) as unknown[][]
  folders.forEach((folder, at) => {
    const template = readChatTemplate({ name: 'tiny', folder }) ?? assert.fail('the template is not found')
    conversations.forEach((conversation, number) => {
      const theirs = expected[at]?.[number]
      if (typeof theirs === 'string') assert.throws(() => template.sequences(conversation), /The roles must alternate/)
      else assert.deepEqual(template.sequences(conversation), theirs, `template ${at}, conversation ${number}`)
    })
  })
})
