/** What a key may do; a key without any can do nothing. `admin` holds for the account's keys, not for other accounts. */
export const scopes = ['inference', 'training', 'data', 'read', 'admin'] as const
export type Scope = (typeof scopes)[number]
