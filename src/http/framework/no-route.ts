// What is answered where no route is: an unknown path, or a known one by another method.
import type { Request, Response } from 'express'
import { locals } from './request-context.ts'
import { HttpRefusal, shortened } from './problem.ts'

export const nothingHere = (request: Request) =>
  new HttpRefusal(404, 'not_found', `There is nothing at ${request.method} ${shortened(request.path)}.`)

export function refuseMethod(path: string, allowed: string) {
  return (request: Request, response: Response) => {
    locals(response).route = path
    throw new HttpRefusal(405, 'method_not_allowed', `${request.method} is not possible here; use ${allowed}.`, {
      Allow: allowed,
    })
  }
}
