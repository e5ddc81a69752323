// Turns graders into functions. `score.ts` asks the models and the programs of the others.
import { graderName, type Grader, type GraderOf, type GraderType } from '../domain/grader.ts'
import { invalidInput } from '../domain/service-error.ts'
import { hasShape, jsonValidator, parsed } from './json-schema.ts'
import { linearPattern } from './linear-pattern.ts'
import { exactMatch, fuzzyMatch, numericMatch, rougeL, rougeN, tokenF1 } from './text-scores.ts'
import { bleu, chrf, gleu } from './translation-scores.ts'

export type Graded = { input: string; expected: string; output: string }

/** From 0 (bad) to 1 (good); null where the row has nothing to compare with. */
type Score = (graded: Graded) => number | null

/** Types whose scores need a model, or a program of the user. */
type AskingType = 'embedding_similarity' | 'model' | 'python'
type AskingGrader = { [T in AskingType]: GraderOf<T> }[AskingType]
type TextType = Exclude<GraderType, AskingType>

const scores: { [T in TextType]: (grader: GraderOf<T>) => Score } = {
  exact_match: () => comparing(exactMatch),
  equals: ({ negate = false }) => comparing((output, expected) => Number((output === expected) !== negate)),
  f1: () => comparing(tokenF1),
  includes: (grader) => (graded) => includes(grader, graded),
  numeric: ({ tolerance = 0, relative_tolerance: relative = 0 }) =>
    comparing((output, expected) => numericMatch(output, expected, { tolerance, relative })),
  regex: ({ pattern, ignore_case: ignoresCase = false }) => {
    const matches = linearPattern(pattern, { ignoresCase })
    return ({ output }) => Number(matches(output))
  },
  json_schema: ({ schema }) => (schema ? fitsSchema(schema) : fitsExpected),
  rouge_l: () => comparing(rougeL),
  rouge_n: ({ n = 1 }) => comparing((output, expected) => rougeN(output, expected, n)),
  fuzzy_match: () => comparing(fuzzyMatch),
  gleu: () => comparing(gleu),
  bleu: () => comparing(bleu),
  chrf: () => comparing(chrf),
}

function comparing(score: (output: string, expected: string) => number | null): Score {
  return ({ output, expected }) => score(output, expected)
}

/**
 * Takes seconds for some patterns and schemas of users, so it runs in a thread.
 * @param pathOf the place of a grader in the request
 * @returns null for a grader that asks a model or a program
 * @throws ServiceError invalid_input that names the grader
 */
export const compileGraders = (
  graders: readonly Grader[],
  pathOf = (index: number) => `graders[${index}]`,
): (Score | null)[] => graders.map((grader, index) => (isAsked(grader) ? null : compileText(grader, pathOf(index))))

/** @param field the list's place in the request. @throws ServiceError invalid_input that names the grader */
export function requireDistinctNames(graders: readonly Grader[], field: string) {
  const names = graders.map(graderName)
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index)
      throw invalidInput(`${field}[${index}].name`, `Two graders have the name "${name}": give one another name.`)
}

/** Whether a grader has a pattern or a schema of its user. */
export const needsCompiling = (grader: Grader) =>
  grader.type === 'regex' || (grader.type === 'json_schema' && Boolean(grader.schema))

export const isAsked = (grader: Grader): grader is AskingGrader =>
  grader.type === 'model' || grader.type === 'embedding_similarity' || grader.type === 'python'

function compileText<T extends TextType>(grader: GraderOf<T>, path: string): Score {
  try {
    return (scores[grader.type] as (grader: GraderOf<T>) => Score)(grader)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw invalidInput(path, `The ${grader.type} grader cannot be used: ${reason}.`)
  }
}

function includes({ ignore_case: ignoresCase = false }: GraderOf<'includes'>, { output, expected }: Graded): number {
  const wanted = expected.trim()
  return Number(ignoresCase ? output.toLowerCase().includes(wanted.toLowerCase()) : output.includes(wanted))
}

function fitsSchema(schema: Record<string, unknown>): Score {
  const isValid = jsonValidator(schema)
  return ({ output }) => Number(isValid(output))
}

/** Null when the expected text is no JSON. */
const fitsExpected: Score = ({ output, expected }) => {
  const example = parsed(expected)
  if (example === undefined) return null
  const value = parsed(output)
  return Number(value !== undefined && hasShape(value, example))
}
