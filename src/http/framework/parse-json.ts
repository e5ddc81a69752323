import { jsonExcess, tooManyValues } from '../../domain/json-bounds.ts'
import { invalidInput } from '../../domain/service-error.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** @throws ServiceError invalid_input */
export function parseObject(body: Buffer): object {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw invalidInput('', 'The body is not valid UTF-8. Send JSON encoded as UTF-8.')
  }
  const excess = jsonExcess(text)
  if (excess !== null) {
    const advice = excess === tooManyValues ? ' Split it into several requests.' : ''
    throw invalidInput('', `The body ${excess}.${advice}`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      '',
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidInput('', 'The body must be a JSON object.')
  return value
}
