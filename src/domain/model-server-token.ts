import { modelServerName, podToken } from './identifiers.ts'

/** The bearer token of one launch: it reports with it, and its callers show it. */
export const modelServerToken = (secret: string, baseModel: string, generation: number) =>
  podToken(secret, `${modelServerName(baseModel)}:${generation}`)
