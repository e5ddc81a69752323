// The contract between this service and the Python programs in pods. `npm run contract` writes it, and runtime/ reads it.
import { z } from 'zod'
import { exitCodes } from '../domain/attempt-cause.ts'
import { documentedDefaults, laterDefaults } from '../domain/training-args.ts'
import { methodDefaults } from '../domain/method-table.ts'
import { podRoutes } from './pod-routes.ts'

export const podContractPath = 'runtime/anneal_runtime/contract.json'

/** The text of the file. */
export function podContract(): string {
  const calls = podRoutes.map(
    ({ name, path, body = z.object({}), response }) =>
      [name, { path, request: jsonSchema(body), answer: jsonSchema(response) }] as const,
  )
  const contract = {
    exit_codes: exitCodes,
    default_args: { ...documentedDefaults, ...laterDefaults },
    methods: methodDefaults,
    calls: Object.fromEntries(calls),
  }
  return `${JSON.stringify(contract, null, 2)}\n`
}

/**
 * As the sender must write it: a field with a default may be absent. A field that a newer version adds may be there, also
 * where our own files allow none.
 */
const jsonSchema = (schema: z.ZodType) =>
  z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema: made }) {
      if (made.additionalProperties === false) delete made.additionalProperties
    },
  })
