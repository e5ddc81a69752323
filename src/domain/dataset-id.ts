import { invalidInput } from './service-error.ts'

const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

export const isDatasetId = (text: string) => pattern.test(text)

/** @throws ServiceError invalid_input */
export function parseDatasetId(text: string): string {
  if (isDatasetId(text)) return text
  throw invalidInput(
    'dataset_id',
    'dataset_id must be 1 to 128 letters, digits, ".", "_" or "-", beginning with a letter or digit.',
  )
}
