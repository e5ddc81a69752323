// Random output types and values of them.
import type { EnumValue, FieldType, OutputField } from '../../../src/domain/output-type.ts'
import type { Random } from './random.ts'

const alphabet = [
  'a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\t', '\r', '\b', '\f', '\u0001', '\u001f', '\u007f', '\u0085', '\u2028',
  '.', '*', '+', '?', '^', '$', '(', ')', '[', ']', '{', '}', '|', '-', ',', ':', '\'', '<', '&',
  'é', 'ß', '日', '本', '🎉', '\u{10ffff}', '\ufeff', '\ufffd',
] as const // prettier-ignore

export const randomText = (random: Random, most: number) =>
  random.list(random.below(most + 1), () => random.pick(alphabet)).join('')

export function randomFields(random: Random): OutputField[] {
  const names = new Set(random.list(1 + random.below(8), () => random.pick(alphabet) + randomText(random, 12)))
  return [...names].map((name) => ({ name, type: randomType(random) }))
}

function randomType(random: Random): FieldType {
  const kind = random.pick(['str', 'int', 'float', 'bool', 'enum'] as const)
  return kind === 'enum' ? { kind, values: random.list(1 + random.below(5), () => randomEnumValue(random)) } : { kind }
}

const randomEnumValue = (random: Random): EnumValue =>
  random.pick([
    () => randomText(random, 8),
    () => randomInteger(random),
    () => random.fraction(),
    () => 1e300,
    () => true,
  ])()

export const randomInteger = (random: Random) => {
  const magnitude = random.pick([0, 1, 9, 10, 999, 1e15, 9e15, Number.MAX_SAFE_INTEGER])
  return Math.floor(random.fraction() * (magnitude + 1)) * random.pick([1, -1]) + 0
}

/** With as many digits as the grammar allows. */
const randomFloat = (random: Random) => {
  const digits = (count: number) => random.list(count, () => String(random.below(10))).join('')
  return Number(`${random.pick(['', '-'])}${random.below(10)}${digits(random.below(14))}.${digits(random.below(15))}1`)
}

export function randomValue(random: Random, type: FieldType, characters: number): EnumValue {
  switch (type.kind) {
    case 'str':
      return randomText(random, characters)
    case 'int':
      return randomInteger(random)
    case 'float':
      return random.pick([() => randomFloat(random), () => randomInteger(random) % 1e15, () => 1e-7, () => 1.5e21])()
    case 'bool':
      return random.pick([true, false])
    case 'enum':
      return random.pick(type.values)
  }
}
