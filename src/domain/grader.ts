// Graders: how an answer to a row of a data set is scored. One table of their names and parameters.
import { z } from 'zod'
import { pythonParameters, sourcesProblem } from './python-grader.ts'

const label = z
  .string()
  .min(1)
  .max(64)
  .describe('The key of its scores; the type when absent. Two graders of one evaluation need different names')
  .nullish()
const ignoreCase = z.boolean().describe('Whether upper and lower case are the same. Default false').nullish()
const tolerance = z.number().min(0)

/** Parameters by type; `type` and `name` come with each. */
const parameters = {
  exact_match: {},
  equals: {
    negate: z
      .boolean()
      .describe('Whether a different text is right and the same text is wrong. Default false')
      .nullish(),
  },
  f1: {},
  includes: { ignore_case: ignoreCase },
  numeric: {
    tolerance: tolerance.describe('The largest difference that still counts as equal. Default 0').nullish(),
    relative_tolerance: tolerance
      .describe('The same as a share of the expected number: 0.01 is one percent. Default 0')
      .nullish(),
  },
  regex: {
    pattern: z.string().min(1).max(1000).describe('A regular expression as RE2 reads it, found anywhere in the answer'),
    ignore_case: ignoreCase,
  },
  json_schema: {
    schema: z
      .record(z.string(), z.unknown())
      .describe('A JSON Schema of draft 2020-12. When absent, the answer must have the shape of the expected JSON')
      .nullish(),
  },
  rouge_l: {},
  rouge_n: { n: z.int().min(1).max(5).describe('Words of a group. Default 1').nullish() },
  fuzzy_match: {},
  gleu: {},
  bleu: {},
  chrf: {},
  embedding_similarity: {},
  model: {
    model: z.string().min(1).max(256).describe('The model that judges: a base or tuned completion model'),
    prompt: z
      .string()
      .min(1)
      .max(20_000)
      .describe('The text for the judge; {input}, {expected} and {output} are replaced. There is a default')
      .nullish(),
    max_score: z.int().min(1).max(100).describe('The judge gives a whole number from 0 to this. Default 10').nullish(),
  },
  python: pythonParameters,
} as const satisfies Record<string, Record<string, z.ZodType>>

export type GraderType = keyof typeof parameters
type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> }
/** An object without parameters would be inferred as one that refuses `type`. */
type ParametersOf<T extends GraderType> = keyof (typeof parameters)[T] extends never
  ? unknown
  : WithoutNulls<z.infer<z.ZodObject<(typeof parameters)[T]>>>
export type GraderOf<T extends GraderType> = { type: T; name?: string | undefined } & ParametersOf<T>
export type Grader = { [T in GraderType]: GraderOf<T> }[GraderType]

const types = Object.keys(parameters) as GraderType[]
const option = <T extends GraderType>(type: T) =>
  z.strictObject({
    type: z.literal(type).describe('How the answer is scored; docs/evaluation.md describes each type'),
    name: label,
    ...parameters[type],
  })

const objects = types.map(option)
const GraderObject = z.discriminatedUnion('type', objects as [(typeof objects)[number], ...typeof objects])
const needsParameters: readonly GraderType[] = ['regex', 'model', 'python']
const names = types.filter((type) => !needsParameters.includes(type))
const GraderName = z.enum(names)

const maxGraders = 10
/** A list of evaluations sends the graders of each. Sources have a limit of their own. */
const maxGradersLength = 65_536

const withoutSource = <T>(grader: T) => (typeof grader === 'object' ? { ...grader, source: undefined } : grader)

/** Checks names and parameters. `src/grading` checks what a pattern or a schema says. */
export const Graders = z
  .array(
    z.union([GraderName.describe('A grader without parameters'), GraderObject], {
      error: `must be one of ${names.join(', ')}, or an object with a type and its parameters. The types ${needsParameters.join(', ')} need an object`,
    }),
  )
  .min(1)
  .max(maxGraders)
  .refine(
    (graders) => JSON.stringify(graders.map(withoutSource)).length <= maxGradersLength,
    `must not be longer than ${maxGradersLength} characters as JSON. Shorten the schemas or the prompts of the graders`,
  )
  .superRefine((graders, context) => {
    const problem = sourcesProblem(graders.map(Object))
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })

/** A name stands for a grader without parameters, and null for a parameter that is absent. */
export const gradersOf = (wanted: z.infer<typeof Graders>): Grader[] =>
  wanted.map((each) => {
    const given = typeof each === 'string' ? { type: each } : each
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as Grader
  })

export const graderName = ({ name, type }: Pick<Grader, 'name' | 'type'>) => name ?? type

/** Scores by the name of the grader, from 0 (bad) to 1 (good); null where the grader cannot score the row. */
export type Scores = Record<string, number | null>

/** `output` is null, with the reason in `error`, when the model refused the row. */
export type ScoredAnswer = { output: string | null; error: string | null; scores: Scores }
