// Formulas that combine the scores of graders, such as `0.5 * name + min(email, 1)`.

type Formula = (values: Readonly<Record<string, number>>) => number

export class FormulaError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FormulaError'
  }
}

const functions: Record<string, (...numbers: number[]) => number> = {
  min: Math.min,
  max: Math.max,
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  exp: Math.exp,
  sqrt: Math.sqrt,
  log: Math.log,
}
const ofMany = new Set(['min', 'max'])
/** Bounds the recursion: each level of brackets or signs is one of the parser. */
const maxDepth = 100
const token = /\s*(?:((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([-+*/^(),]))/y

/** Scores of graders that a formula is tried with. */
const tried = [0, 1, 0.5, 0.25, 0.75, 2, -1, 10, 100, -100, 1000]
const trials = 256

/**
 * @param more scores that some graders have, such as the bounds of their ranges
 * @returns a phrase that says why the formula combines nothing; null for a good one
 * @throws FormulaError as `parseFormula`
 */
export function uselessFormula(text: string, names: readonly string[], more: readonly number[]): string | null {
  const formula = parseFormula(text, names)
  if (!tokensOf(text).some((token) => names.includes(token))) return 'names none of its graders'
  const scores = [...tried, ...more]
  // Equal scores first, then scores that differ, from a fixed sequence.
  let state = 1
  const next = () => scores[(state = (state * 48_271) % 2_147_483_647) % scores.length] ?? 0
  for (let trial = 0; trial < scores.length + trials; trial++) {
    const values = names.map((name): [string, number] => [name, scores[trial] ?? next()])
    if (formula(Object.fromEntries(values)) !== null) return null
  }
  return 'gives no number, whatever its graders score'
}

/**
 * Reads numbers, names, `+ - * / ^`, brackets and functions.
 * @param names those that a formula may use
 * @returns a function that gives null where the formula has no finite number
 * @throws FormulaError with a phrase that says what is wrong
 */
export function parseFormula(
  text: string,
  names: readonly string[],
): (values: Readonly<Record<string, number>>) => number | null {
  const tokens = tokensOf(text)
  let at = 0
  let depth = 0
  const take = (wanted: string) => tokens[at] === wanted && ++at > 0
  const expect = (wanted: string) => {
    if (!take(wanted)) throw new FormulaError(`has ${shown(tokens[at])} where "${wanted}" is expected`)
  }
  const result = sum()
  if (at < tokens.length) throw new FormulaError(`has ${shown(tokens[at])} where its end is expected`)
  return (values) => {
    const value = result(values)
    return Number.isFinite(value) ? value : null
  }

  function sum(): Formula {
    if (++depth > maxDepth) throw new FormulaError(`is nested more than ${maxDepth} levels deep`)
    let left = product()
    for (;;) {
      const first = left
      if (take('+')) left = both(first, product(), (a, b) => a + b)
      else if (take('-')) left = both(first, product(), (a, b) => a - b)
      else break
    }
    depth--
    return left
  }

  function product(): Formula {
    let left = signed()
    for (;;) {
      const first = left
      if (take('*')) left = both(first, signed(), (a, b) => a * b)
      else if (take('/')) left = both(first, signed(), (a, b) => a / b)
      else return left
    }
  }

  function signed(): Formula {
    let isNegative = false
    while (tokens[at] === '-' || tokens[at] === '+') isNegative = (tokens[at++] === '-') !== isNegative
    const value = power()
    return isNegative ? (values) => -value(values) : value
  }

  /** Groups from the right: 2^3^2 is 2^9. */
  function power(): Formula {
    const base = atom()
    if (!take('^')) return base
    if (++depth > maxDepth) throw new FormulaError(`is nested more than ${maxDepth} levels deep`)
    const exponent = signed()
    depth--
    return both(base, exponent, (a, b) => a ** b)
  }

  function atom(): Formula {
    const found = tokens[at++]
    if (found === '(') {
      const inner = sum()
      expect(')')
      return inner
    }
    if (found === undefined) throw new FormulaError('ends where a number, a name or a bracket is expected')
    if (/^[\d.]/.test(found)) return () => Number(found)
    if (!/^\w/.test(found)) throw new FormulaError(`has "${found}" where a number, a name or a bracket is expected`)
    if (tokens[at] === '(') return call(found)
    if (!names.includes(found)) throw new FormulaError(`names "${found}", which is none of its graders`)
    return (values) => values[found] ?? Number.NaN
  }

  function call(name: string): Formula {
    const apply = Object.hasOwn(functions, name) ? functions[name] : undefined
    if (!apply) throw new FormulaError(`has the function "${name}"; use ${Object.keys(functions).join(', ')}`)
    expect('(')
    const inputs = [sum()]
    while (take(',')) inputs.push(sum())
    expect(')')
    if (inputs.length > 1 && !ofMany.has(name)) throw new FormulaError(`gives ${name} more than one number`)
    return (values) => apply(...inputs.map((input) => input(values)))
  }
}

const both =
  (left: Formula, right: Formula, combine: (a: number, b: number) => number): Formula =>
  (values) =>
    combine(left(values), right(values))

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  const source = text.trimEnd()
  const pattern = new RegExp(token)
  while (pattern.lastIndex < source.length) {
    const start = pattern.lastIndex
    const [, number, name, sign] = pattern.exec(source) ?? []
    const found = number ?? name ?? sign
    if (found === undefined)
      throw new FormulaError(`has ${shown(source.slice(start).trimStart()[0])}, which it may not`)
    tokens.push(found)
  }
  return tokens
}

const shown = (found: string | undefined) => (found === undefined ? 'its end' : `"${found}"`)
