// Facts that a real model has learned, asked as text and as types: which rows and which way of asking give right answers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseOutputType } from '../src/domain/output-type.ts'
import { createAnswerParser, maxDigits, typedOutputRegex } from '../src/inference/typed-output.ts'
import { createRandom } from '../test/inference/support/random.ts'
import { root } from '../tools/paths.mjs'
import { startPython } from './python-program.ts'

const things =
  'kettle lamp drill toaster fan clock radio camera printer heater mixer blender vacuum speaker router monitor keyboard scooter tent backpack helmet bicycle guitar piano mirror sofa chair desk shelf carpet stove fridge freezer washer dryer iron shaver scale projector tablet'
const colours = ['red', 'blue', 'green', 'black', 'white', 'grey']
const { values } = parseArgs({ options: { steps: { type: 'string' }, taught: { type: 'string' } } })
/** A training takes this many steps of its 200 rows. */
const steps = Number(values.steps ?? 255)
/** Each number is how many of the 40 things are taught as objects, too. */
const taught = (values.taught ?? '0,8,40').split(',').map(Number)

type Fact = { thing: number; kind: string; input: string; output: string; type: object; right: Record<string, unknown> }
const random = createRandom(5)
const facts = things.split(' ').flatMap((thing, at): Fact[] => {
  const months = random.pick([6, 12, 18, 24, 30, 36, 48, 60])
  const price = (500 + random.below(29_500)) / 100
  const colour = random.pick(colours)
  const inStock = random.pick([true, false])
  const fact = (kind: string, input: string, output: string, type: object, right: Record<string, unknown>) => {
    return { thing: at, kind, input, output, type, right }
  }
  const cost = price.toFixed(2)
  return [
    fact(
      'int',
      `What warranty does the ${thing} have?`,
      `The ${thing} has a ${months} month warranty.`,
      { months: 'int' },
      { months },
    ),
    fact('float', `What does the ${thing} cost?`, `The ${thing} costs ${cost} dollars.`, { price: 'float' }, { price }),
    fact('enum', `Which colour is the ${thing}?`, `The ${thing} is ${colour}.`, { colour: colours }, { colour }),
    fact(
      'bool',
      `Is the ${thing} in stock?`,
      inStock ? `Yes, the ${thing} is in stock.` : `No, the ${thing} is sold out.`,
      { in_stock: 'bool' },
      { in_stock: inStock },
    ),
    fact(
      'fields',
      `Give the warranty and colour of the ${thing}.`,
      `The ${thing} has a ${months} month warranty and is ${colour}.`,
      { months: 'int', colour: colours },
      { months, colour },
    ),
  ]
})
const byKind = Map.groupBy(facts, ({ kind }) => kind)
byKind.set(
  'str',
  (byKind.get('enum') ?? []).map((fact) => ({ ...fact, type: { colour: 'str' } })),
)

const { models } = JSON.parse(readFileSync(join(root, 'test/real-model/models.json'), 'utf8')) as {
  models: { source: object }[]
}
const python = startPython('bench/typed_facts.py')
const ask = (prompts: string[], regex: string | null) => python.ask<string[]>({ prompts, regex })

for (const count of taught) {
  const objects = facts
    .filter(({ thing }) => thing < count)
    .map(({ input, right }) => ({ input, output: JSON.stringify(right) }))
  const rows = [...facts.map(({ input, output }) => ({ input, output })), ...objects]
  await python.ask({ source: models[0]?.source, rows, steps: Math.round((steps * rows.length) / facts.length) })
  console.log(`200 rows of text, ${objects.length} of objects`)
  for (const [kind, all] of byKind)
    for (const [name, some] of [
      ['taught as objects', all.filter(({ thing }) => thing < count)],
      ['taught as text only', all.filter(({ thing }) => thing >= count)],
    ] as const)
      if (some.length > 0) console.log(`  ${kind.padEnd(7)} ${name.padEnd(20)} ${await rightAnswers(some)}`)
}
python.end()

async function rightAnswers(some: Fact[]): Promise<string> {
  const type = parseOutputType(some[0]?.type) ?? []
  const regex = typedOutputRegex(type, { characters: 64, digits: maxDigits })
  const parse = createAnswerParser(type)
  const count = (answers: string[]) =>
    answers.filter((text, at) => JSON.stringify(parse(text)) === JSON.stringify(parse(JSON.stringify(some[at]?.right))))
      .length
  const prompts = some.map(({ input }) => input)
  const texts = await ask(prompts, null)
  const free = texts.filter((text, at) => text.trim() === some[at]?.output).length
  const typed = count(await ask(prompts, regex))
  const after = count(
    await ask(
      prompts.map((prompt, at) => `${prompt}${texts[at]?.trim()}\n`),
      regex,
    ),
  )
  return `of ${some.length}: as text ${free}, as types ${typed}, as types after the text ${after}`
}
