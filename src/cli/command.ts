/** `run` resolves with the exit code. */
export type Command = { usage: string; run: (args: string[]) => Promise<number> }

/** `summary` is a sentence. */
export type ListedCommand = { summary: string; load: () => Promise<Command> }
