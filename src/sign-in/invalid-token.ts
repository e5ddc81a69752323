import { ServiceError } from '../domain/service-error.ts'

/** A refusal of a token of the identity provider. The sentence says of the token what it lacks, and never repeats the token. */
export const invalidToken = (reason: string) =>
  new ServiceError('invalid_token', `invalid token: the token of the identity provider is refused, because ${reason}.`)
