import { meaningOf } from '../domain/evaluation.ts'

/** Says below the name of a grader what its scores mean. */
export function GraderMeaning({ grader }: { grader: string }) {
  const meaning = meaningOf(grader)
  return meaning && <p className="quiet small meaning">{meaning}</p>
}
