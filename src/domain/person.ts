/** Somebody who signed in with the identity provider: `subject` is the provider's id for them. */
export type Person = { subject: string; mail: string | null }
