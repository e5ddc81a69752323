// Writes console/src/api/types.ts, the types of the routes that the console calls by `npm run console:types`. The generator
// needs TypeScript 5, so it runs with packages of its own.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consoleDocument, documentHash, typesPath } from './console-document.ts'
import { root } from './paths.mjs'
import { clientPackages } from './setup/client-env.mjs'

const packages = await clientPackages(join(root, 'test/clients/typescript'))
const folder = mkdtempSync(join(tmpdir(), 'anneal-types-'))
try {
  const document = consoleDocument()
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  const types = join(folder, 'types.ts')
  const generator = join(packages, 'node_modules/openapi-typescript/bin/cli.js')
  execFileSync(process.execPath, [generator, join(folder, 'openapi.json'), '--output', types], { stdio: 'inherit' })
  writeFileSync(
    typesPath,
    `// Written by \`npm run console:types\`. Document: ${documentHash(document)}\n${readFileSync(types, 'utf8')}`,
  )
} finally {
  rmSync(folder, { recursive: true })
}
