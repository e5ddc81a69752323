/** A launch that a retry cannot bring about. Told by its code, because activities import only types of the compute. */
export const isInvalidSpec = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'invalid'
