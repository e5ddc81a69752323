// Keeps the conversations of the playground in this browser, for one key. They go when the user signs out or another key
// signs in.
import { currentSession, onSessionChange } from './session.ts'

export type Asked = {
  at: string
  /** The query of the address of the playground. */
  setup: string
  prompt: string
  system: string | null
  tools: string
}

const storageKey = 'anneal-asked'
const most = 30

type Kept = { keyId: string; asked: Asked[] }

onSessionChange(() => {
  const session = currentSession()
  if (session && read()?.keyId !== session.keyId) forgetAsked()
})

export function forgetAsked() {
  localStorage.removeItem(storageKey)
}

/** The newest first. */
export function askedBefore(): Asked[] {
  const kept = read()
  return kept && kept.keyId === currentSession()?.keyId ? kept.asked : []
}

export function keepAsked(asked: Asked) {
  const keyId = currentSession()?.keyId
  if (keyId === undefined) return
  const earlier = askedBefore().filter(({ prompt, setup }) => prompt !== asked.prompt || setup !== asked.setup)
  try {
    localStorage.setItem(storageKey, JSON.stringify({ keyId, asked: [asked, ...earlier].slice(0, most) }))
  } catch {
    // The storage is full: the history is worth less than the answer.
    forgetAsked()
  }
}

function read(): Kept | null {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Kept | null
  } catch {
    return null
  }
}
