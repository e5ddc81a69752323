/** `invalid`: a retry cannot help. `unavailable`: the disk, the machine or the cluster did not answer, so retry. */
export class ComputeError extends Error {
  readonly code: 'invalid' | 'unavailable'

  constructor(code: ComputeError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ComputeError'
    this.code = code
  }
}
