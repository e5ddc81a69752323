import { readFileSync } from 'node:fs'
import { parseCatalogue, type Catalogue } from '../domain/catalogue.ts'
import { environment, serviceDefaults } from './services.ts'

/** The catalogue of a service that is started here. @throws Error naming the entry and what to fix */
export function readCatalogue(): Catalogue {
  const path = environment().ANNEAL_CATALOGUE ?? serviceDefaults.ANNEAL_CATALOGUE
  return parseCatalogue(JSON.parse(readFileSync(path, 'utf8')))
}
