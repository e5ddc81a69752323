/** Why the stack cannot start (or stop), in one sentence for the person at the terminal; printed without a stack. */
export class StartError extends Error {}
