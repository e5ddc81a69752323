/** The command was called wrongly: its message and the help are printed, exit 2. */
export class UsageError extends Error {}
