import { modelServerName, podToken } from './identifiers.ts'

/** The bearer token of one launch. The model server sends it with its reports; its callers send it with requests. */
export const modelServerToken = (secret: string, baseModel: string, launch: number) =>
  podToken(secret, `${modelServerName(baseModel)}:${launch}`)
