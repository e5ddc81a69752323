// The grader `model`: a model that judges in a completion of a prompt.
import type { GraderOf } from '../domain/grader.ts'
import { filledCharacters } from '../domain/item-template.ts'
import type { Graded } from './compile-graders.ts'

const defaultMaxScore = 10
const defaultPrompt = [
  'Judge the answer to a question.\n\nQuestion:\n{input}\n\nReference answer:\n{expected}\n\nAnswer to judge:\n{output}\n\n',
  'Does the answer say the same as the reference? Give a whole number from 0 (wrong) to {max_score} (entirely right).\n',
].join('')

/** Completes each prompt with a whole number from 0 to `most`; null for a prompt that the model refuses. */
export type Complete = (
  judge: { model: string; most: number },
  prompts: readonly string[],
  signal: AbortSignal,
) => Promise<(number | null)[]>

/** Asks for a few long prompts at a time. @returns shares of the highest score; null where there is no judgement */
export async function judgeByPrompt(
  { model, prompt = defaultPrompt, max_score: most = defaultMaxScore }: GraderOf<'model'>,
  graded: readonly Graded[],
  complete: Complete,
  signal: AbortSignal,
): Promise<(number | null)[]> {
  const scores: (number | null)[] = []
  let prompts: string[] = []
  let left = filledCharacters
  const askForThese = async () => {
    const judged = prompts.length === 0 ? [] : await complete({ model, most }, prompts, signal)
    scores.push(...judged.map((score) => (score === null ? null : score / most)))
    prompts = []
    left = filledCharacters
  }
  for (const each of graded) {
    const parts = partsOf(prompt, { ...each, max_score: String(most) })
    const characters = parts.reduce((sum, { length }) => sum + length, 0)
    if (characters > left) await askForThese()
    // Far longer than any model reads: not worth the memory.
    if (characters > filledCharacters) scores.push(null)
    else prompts.push(parts.join(''))
    left -= characters
  }
  await askForThese()
  return scores
}

/** The parts of a prompt: copies of nothing, however often a long text is named. */
const partsOf = (template: string, values: Record<string, string>): string[] =>
  template
    .split(/\{(input|expected|output|max_score)\}/)
    .map((part, at) => (at % 2 === 0 ? part : (values[part] ?? '')))
