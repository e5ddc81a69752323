// Parses the variables of one process. This folder alone reads process.env; each file has the settings of one program or part.
import { z } from 'zod'

/** @throws Error naming each wrong variable */
export function parse<T extends z.ZodType>(schema: T, environment: NodeJS.ProcessEnv): z.infer<T> {
  const parsed = schema.safeParse(environment)
  if (!parsed.success) throw new Error(`The environment is not valid:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

export function listed(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || [])
}
