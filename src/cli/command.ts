/** `run` resolves with the exit code. */
export type Command = { summary: string; usage: string; run: (args: string[]) => Promise<number> }
