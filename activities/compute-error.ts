/** A launch that asking again cannot bring about. Known by its code: activities import only types. */
export const isInvalidSpec = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'invalid'
