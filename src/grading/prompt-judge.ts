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

/** @returns shares of the highest score; null where there is no judgement */
export async function judgeByPrompt(
  { model, prompt = defaultPrompt, max_score: most = defaultMaxScore }: GraderOf<'model'>,
  graded: readonly Graded[],
  complete: Complete,
  signal: AbortSignal,
): Promise<(number | null)[]> {
  const scores: (number | null)[] = []
  for (const group of groupsOf(graded.map((each) => partsOf(prompt, { ...each, max_score: String(most) })))) {
    // Far longer than any model reads: not worth the memory.
    if (group.some((parts) => charactersIn(parts) > filledCharacters)) {
      scores.push(null)
      continue
    }
    const prompts = group.map((parts) => parts.join(''))
    for (const judgement of await complete({ model, most }, prompts, signal))
      scores.push(judgement === null ? null : judgement / most)
  }
  return scores
}

/** The parts of a prompt: copies of nothing, however often a long text is named. */
const partsOf = (template: string, values: Record<string, string>): string[] =>
  template
    .split(/\{(input|expected|output|max_score)\}/)
    .map((part, at) => (at % 2 === 0 ? part : (values[part] ?? '')))

const charactersIn = (parts: readonly string[]) => parts.reduce((sum, { length }) => sum + length, 0)

/** Prompts that are held at once. One that is too long is alone in its group. */
function* groupsOf(prompts: readonly string[][]): Generator<string[][]> {
  let group: string[][] = []
  let characters = 0
  for (const parts of prompts) {
    characters += charactersIn(parts)
    if (group.length > 0 && characters > filledCharacters) {
      yield group
      group = []
      characters = charactersIn(parts)
    }
    group.push(parts)
  }
  if (group.length > 0) yield group
}
