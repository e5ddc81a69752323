/** Why the demo cannot go on, in a sentence. */
export class DemoError extends Error {}
