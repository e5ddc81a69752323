/** The reason why the stack cannot start or stop, in one sentence for the terminal. Printed without a stack trace. */
export class StartError extends Error {}
