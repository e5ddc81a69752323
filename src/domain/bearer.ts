/** The token of the header Authorization, if it has one. The scheme is written in any case. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
