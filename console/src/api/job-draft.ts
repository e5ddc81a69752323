// The form of a new job as the user has left it, so that a reload loses nothing. It stays in this tab, until the job is
// submitted or the session ends.
import { emptyForm, type JobForm } from '../domain/job-form.ts'
import { onSessionChange } from './session.ts'

/** Another name for each shape of the form. */
const storageKey = 'anneal-new-job-2'

type Draft = { from: number; form: JobForm }

export const forgetDraft = () => sessionStorage.removeItem(storageKey)
onSessionChange(forgetDraft)

/** @param from the job that the form was filled in from; 0 for none */
export const keepDraft = (from: number, form: JobForm) =>
  sessionStorage.setItem(storageKey, JSON.stringify({ from, form } satisfies Draft))

/** Null without a draft, or when it was filled in from another job. */
export function readDraft(from: number): JobForm | null {
  try {
    const draft = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null') as Draft | null
    return draft?.from === from ? { ...emptyForm, ...draft.form } : null
  } catch {
    return null
  }
}
