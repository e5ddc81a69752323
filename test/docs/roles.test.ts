import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { roles, roleScopes } from '../../src/domain/roles.ts'

test('the page of access has the scopes of each role', () => {
  const page = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8')
  const rows = roles.map((role) => `| \`${role}\` | ${roleScopes[role].map((scope) => `\`${scope}\``).join(', ')} |`)
  assert.ok(page.includes(`| Role | Scopes |\n|---|---|\n${rows.join('\n')}\n`), rows.join('\n'))
})
