/** Makes a switch exhaustive: the compiler refuses a case that can still arrive here. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`)
}
