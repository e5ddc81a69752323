// What is answered where no route is: an unknown path, or a known one by another method.
import type { Request, Response } from 'express'
import { locals } from './request-context.ts'
import { HttpError, shortened } from './problem.ts'

export const routeNotFound = (request: Request) =>
  new HttpError(404, 'not_found', `There is nothing at ${request.method} ${shortened(request.path)}.`)

export function methodNotAllowed(path: string, allowed: string) {
  return (request: Request, response: Response) => {
    locals(response).route = path
    throw new HttpError(405, 'method_not_allowed', `${request.method} is not possible here; use ${allowed}.`, {
      Allow: allowed,
    })
  }
}
