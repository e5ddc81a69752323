// Writes the file that holds the schemas, exit codes and default arguments for Python:   npm run contract
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { podContract, podContractPath } from '../src/internal-http/pod-contract.ts'
import { root } from './paths.mjs'

writeFileSync(join(root, podContractPath), podContract())
