/** `run` resolves with the exit code. */
export type Command = { usage: string; run: (args: string[]) => Promise<number> }
