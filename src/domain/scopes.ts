/** Permissions of an API key. `admin` manages the keys of its own account only. */
export const scopes = ['inference', 'training', 'data', 'read', 'admin'] as const
export type Scope = (typeof scopes)[number]
