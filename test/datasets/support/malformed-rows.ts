// Rows that no method may take, made by changes to good rows. A change puts `value` at `place`; undefined takes the field out.
// `field`: where the problem is told, if that is another place.
import type { MethodName } from '../../../src/domain/method-table.ts'

type Change = [place: string, value: unknown, reason: string, field?: string]
export type Malformed = { method: MethodName; row: object; changes: Change[] }

const user = (content: unknown) => ({ role: 'user', content })
const said = (content: unknown) => ({ role: 'assistant', content })
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }

const nul = 'contains a NUL character'
const noMessage = 'is not a message'
const noList = 'is not a list of messages'
const noRole = 'is not system, developer, user, assistant or tool'
const noSpeaker = 'is not system, human, gpt, function_call or observation'
const noFunction = 'is not a function with a name and parameters'
const image = 'has a part of the type "image_url": only texts are learned'
const noCall = 'is not a call of a function'

const noText: [value: unknown, reason: string][] = [
  [7, 'is a number, not a string'],
  [true, 'is a boolean, not a string'],
  [{ a: {} }, 'is an object, not a string'],
  ['a\0b', nul],
]

/** Of a field that holds a text. */
const ofText = (place: string, ...more: [value: unknown, reason: string][]): Change[] =>
  [...noText, ...more].map(([value, reason]): Change => [place, value, reason])

/** Of a message with `role` and `content`. */
const ofMessage = (place: string): Change[] => [
  [place, 'hello', noMessage],
  [`${place}.role`, 'king', noRole],
  [`${place}.content`, 7, 'is not a string'],
  [`${place}.content`, [{ type: 'image_url', image_url: { url: 'x' } }], image],
  [`${place}.content`, 'a\0b', nul],
]
/** Of a message that is learned. */
const ofAnswer = (place: string): Change[] => [
  ...ofMessage(place),
  [place, null, noMessage],
  [`${place}.content`, '', 'is empty'],
  [`${place}.content`, undefined, 'is empty'],
  [`${place}.weight`, 0.5, 'is neither 0 nor 1'],
  [`${place}.refusal`, 'no', 'is not supported'],
  [`${place}.audio`, { id: 'a' }, 'is not supported'],
  [`${place}.tool_calls`, 'f()', 'is not a list of at most 128 calls'],
  [`${place}.tool_calls`, [7], noCall, `${place}.tool_calls[0]`],
]
const ofTools = (place: string): Change[] => [
  [place, 7, 'is not a list of at most 128 functions'],
  [place, Array(129).fill(tool), 'is not a list of at most 128 functions'],
  [place, [{ type: 'web_search' }], noFunction, `${place}[0]`],
  [place, [{ type: 'function', function: { name: 'a b' } }], noFunction, `${place}[0]`],
  [place, [tool, { type: 'function', function: { name: 'f', parameters: 7 } }], noFunction, `${place}[1]`],
]

const supervised: Omit<Malformed, 'method'>[] = [
  {
    row: { input: 'q', output: 'a' },
    changes: [
      ...ofText('input', [['x'], 'is an array, not a string'], [null, 'is missing'], [undefined, 'is missing']),
      ...ofText('output', [['x'], 'is an array, not a string'], [null, 'is missing'], ['', 'is empty']),
      ['output', undefined, 'is missing'],
      ['history', ['x'], 'is not a list of turns such as ["question", "answer"]'],
      ['history', [['x', 7]], 'is not a list of turns such as ["question", "answer"]'],
      ['system', 7, 'is a number, not a string'],
      ['context', ['x'], 'is an array, not a string'],
      ['instruction', { a: {} }, 'is an object, not a string'],
      ['Output', 'b', 'is the same field as "output": keep one'],
    ],
  },
  {
    row: { text: 't' },
    changes: ofText('text', [['x'], 'is an array, not a string'], ['', 'is empty'], [null, 'is missing']),
  },
  {
    row: { messages: [user('q'), said('a')] },
    changes: [
      ['messages', 7, noList],
      ['messages', 'hello', noList],
      ['messages', { a: {} }, noList],
      ['messages', [user('q')], 'has no assistant message to train on'],
      ['messages', [said('a')], 'has no assistant message to train on'],
      ['messages', Array(1001).fill(said('a')), 'has 1001 messages; a conversation may have at most 1000'],
      ['functions', [{ name: 'f' }], 'is not supported: use tools'],
      ['system', 7, 'is not a string'],
      ['messages[1].weight', 0, 'has no assistant message to train on', 'messages'],
      ...ofMessage('messages[0]'),
      ...ofAnswer('messages[1]'),
      ...ofTools('tools'),
    ],
  },
  {
    row: {
      messages: [
        user('q'),
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
        said('a'),
      ],
    },
    changes: [
      ['messages[1].tool_calls[0].function', 7, noCall, 'messages[1].tool_calls[0]'],
      ['messages[1].tool_calls[0].function.name', 'a b', noCall, 'messages[1].tool_calls[0]'],
      ['messages[1].tool_calls[0].function.arguments', '{', 'is not valid JSON'],
      ['messages[1].tool_calls[0].function.arguments', '[1]', 'is not a JSON object in a string'],
      ['messages[1].tool_calls[0].function.arguments', 7, 'is not a JSON object in a string'],
      ['messages[2].tool_call_id', undefined, 'is not a string'],
      ['messages[2].tool_call_id', 7, 'is not a string'],
      ['messages[2].name', 7, 'is not a string'],
      ['messages[0].tool_calls', [call], 'is for the assistant'],
    ],
  },
  {
    row: {
      conversations: [
        { from: 'human', value: 'q' },
        { from: 'gpt', value: 'a' },
      ],
    },
    changes: [
      ['conversations[0].from', 'king', noSpeaker],
      ['conversations[0].value', 7, 'is not a string'],
      ['conversations[0]', 7, noMessage],
      ['conversations[1].value', '', 'is empty'],
      ['conversations[1].value', 'a\0b', nul],
      ['conversations[1].from', 7, noSpeaker],
    ],
  },
  {
    row: { prompt: [user('q')], completion: [said('a')] },
    changes: [...ofMessage('prompt[0]'), ...ofMessage('completion[0]'), ['completion', 7, noList]],
  },
]

const pair = { prompt: 'q', chosen: 'a', rejected: 'b' }
const openAi = {
  input: { messages: [user('q')], tools: [tool] },
  preferred_output: [said('a')],
  non_preferred_output: [said('b')],
}

const dpo: Omit<Malformed, 'method'>[] = [
  {
    row: pair,
    changes: [
      ...ofText('prompt', [null, 'is missing'], ['', 'is missing'], [undefined, 'is missing']),
      ['prompt', ['x'], noMessage, 'prompt[0]'],
      ...(['chosen', 'rejected'] as const).flatMap((name): Change[] => [
        [name, 7, 'is a number, not a string'],
        [name, true, 'is a boolean, not a string'],
        [name, 'a\0b', nul],
        [name, '', 'is empty'],
        [name, null, 'is empty'],
        [name, [], 'is empty'],
        [name, {}, 'is empty'],
        [name, undefined, 'is missing'],
        [name, ['x'], noMessage, `${name}[0]`],
        [name, { content: 'a' }, noRole, `${name}.role`],
        [name, user('a'), 'is not the assistant', `${name}.role`],
        [name, [user('a')], 'is not the assistant', `${name}[0].role`],
        [name, [{ ...said('a'), tool_calls: [call] }], 'is for a prompt of messages', `${name}[0].tool_calls`],
        [name, [said(7)], 'is not a string', `${name}[0].content`],
      ]),
      ['rejected', 'a', 'is the same as chosen'],
      ['system', 7, 'is a number, not a string'],
      ['history', ['x'], 'is not a list of turns such as ["question", "answer"]'],
    ],
  },
  {
    row: openAi,
    changes: [
      ...ofMessage('input.messages[0]'),
      ...ofAnswer('preferred_output[0]').filter(([place]) => !place.endsWith('weight')),
      ...ofMessage('non_preferred_output[0]'),
      ...ofTools('input.tools'),
      ['input', undefined, 'is missing'],
      ['input.messages', undefined, 'is missing'],
      ['input.messages', [], 'is missing'],
      ['input.messages', 'q', noList],
      ['input.messages', { a: {} }, noList],
      ['input.messages', [said('q')], 'the last message is not of the user'],
      ['input.messages', [user('')], 'ends in an empty message of the user'],
      ['input.parallel_tool_calls', 'yes', 'is not true or false'],
      ['preferred_output', undefined, 'is missing'],
      ['preferred_output', [], 'is empty'],
      ['preferred_output', [user('a')], 'is not the assistant', 'preferred_output[0].role'],
      ['non_preferred_output', undefined, 'is missing'],
      ['non_preferred_output', [said('b'), said('c')], 'has 2 messages; an answer is one message of the assistant'],
      ['non_preferred_output', [said('a')], 'is the same as preferred_output'],
    ],
  },
  {
    row: { chosen: [user('q'), said('a')], rejected: [user('q'), said('b')] },
    changes: [
      ...ofMessage('chosen[1]'),
      ...ofMessage('rejected[1]'),
      ['rejected[0].content', 'r', 'does not begin with the same messages as chosen', 'rejected'],
      ['rejected', 'b', noList],
      ['chosen', 'a', noList],
      ['chosen', [said('a')], 'does not begin with the same messages as chosen', 'rejected'],
    ],
  },
  {
    row: {
      conversations: [{ from: 'human', value: 'q' }],
      chosen: { from: 'gpt', value: 'a' },
      rejected: { from: 'gpt', value: 'b' },
    },
    changes: [
      ['conversations[0].from', 'king', noSpeaker],
      ['conversations[0].value', 7, 'is not a string'],
      ['conversations[0].value', '', 'ends in an empty message of the user', 'conversations'],
      ['chosen.value', 7, 'is not a string'],
      ['chosen.from', 'human', 'is not the assistant'],
      ['rejected', 7, 'is not a string'],
      ['rejected.from', 'king', noSpeaker],
    ],
  },
]

const kto: Omit<Malformed, 'method'>[] = [
  {
    row: { prompt: 'q', completion: 'a', label: true },
    changes: [
      ...ofText('prompt', [null, 'is missing'], ['', 'is missing'], [undefined, 'is missing']),
      ...ofText('completion', [['x'], 'is an array, not a string']),
      ['completion', '', "is empty (this job's method is kto)"],
      ['completion', undefined, "is missing (this job's method is kto)"],
      ['completion', null, "is missing (this job's method is kto)"],
      ['label', undefined, "is missing (this job's method is kto)"],
      ['label', null, "is missing (this job's method is kto)"],
      ...[1, 0, 'good', 'True', ['x'], { a: {} }].map((value): Change => ['label', value, 'is not true or false']),
    ],
  },
  {
    row: { messages: [user('q'), said('a')], label: false },
    changes: [
      ['messages', 7, noList],
      ['messages', [said('a')], 'has no assistant message to train on'],
      ['messages', [said('q'), said('a')], 'the last message is not of the user'],
      ['messages[0].content', '', 'ends in an empty message of the user', 'messages'],
      ...ofMessage('messages[0]'),
      ...ofAnswer('messages[1]'),
    ],
  },
  {
    row: pair,
    changes: [['rejected', 'a', 'is the same as chosen'], ['chosen', undefined, 'is missing'], ...ofText('prompt')],
  },
]

const reinforcement: Omit<Malformed, 'method'>[] = [
  {
    row: { prompt: 'q', answer: 'a' },
    changes: [
      ...ofText('prompt', [null, 'is empty'], ['', 'is empty']),
      ['prompt', undefined, 'is missing'],
      ['Prompt', 'r', 'is the same field as "prompt": keep one'],
      ['messages', [user('q')], 'stands beside messages: keep one of them', 'prompt'],
      ['tools', [tool], 'is for a prompt of messages'],
      ['answer', undefined, 'is missing; the grader "right" reads it', 'item.answer'],
      ['answer', null, 'is null; the grader "right" reads it', 'item.answer'],
      ['answer', 'a\0b', nul, 'item.answer'],
      ['note', 'x'.repeat(65_536), 'has more than 65536 characters of JSON beside the prompt', 'item'],
    ],
  },
  {
    row: { messages: [user('q')], answer: 'a' },
    changes: [
      ['messages', 7, noList],
      ['messages', 'q', noList],
      ['messages', { a: {} }, noList],
      ['messages', [user('')], 'ends in an empty message of the user'],
      [
        'messages',
        [user('q'), said('a')],
        "the last message is not of the user. This job's method is reinforcement; rows that end in an answer are for supervised",
      ],
      ...ofMessage('messages[0]'),
      ...ofTools('tools'),
    ],
  },
  { row: { prompt: [user('q')], answer: 'a' }, changes: ofMessage('prompt[0]') },
]

export const malformed: Malformed[] = Object.entries({ supervised, dpo, kto, reinforcement }).flatMap(
  ([method, groups]) => groups.map((group) => ({ method: method as MethodName, ...group })),
)
