/** The error statuses that routes have. */
export const meanings = {
  400: 'A value is invalid; errors names each field',
  401: 'The key is missing, unknown, expired or revoked, or lacks the scope',
  404: 'The account has no object with this id or name',
  408: 'The body arrived too slowly',
  409: 'The state of the object does not allow this',
  413: 'The body is larger than the limit of the route',
  415: 'The body has the wrong Content-Type',
  422: 'The Idempotency-Key was used with another request',
  429: 'Too many requests, or a quota is used up; retry after the seconds in Retry-After',
  500: 'An internal error; X-Request-Id identifies the request in the log',
  503: 'A model is starting or does not answer, or the database or object store is away; retry after the seconds in Retry-After',
  594: 'The model is unknown (instead of 404, for clients that send Lamini-Version)',
}
export type ErrorStatus = keyof typeof meanings
