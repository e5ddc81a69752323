// `npm run test:isolation`: what one ordinary key can take from another account. attack.ts has the words; attacks.ts lists
// what is tried; probes.ts is what the victim does meanwhile; verdict.ts says what must not happen.
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { invocationDir } from '../../../tools/paths.mjs'
import type { Attack } from './attack.ts'
import { attacks, findAttack } from './attacks.ts'
import { runAttack, type AttackResult } from './run-attack.ts'
import { openStage, withStack } from './stack.ts'
import { tablesOf } from './table.ts'
import { judge } from './verdict.ts'

const usage = `npm run test:isolation [-- [--only NAME,...] [--parts NAME,...] [--attach FILE] [--max-ratio N] [--json] | --list]
  Each attack strikes a stack of its own, about two minutes each on two cores. Ends with 1 when the victim was refused or
  slowed down, when a process was restarted, or when the attacker got a wrong answer.
  --only NAME      attacks by their names, with commas between
  --parts NAME     parts of the attack, with commas between: of single-requests, the names of routes
  --attach FILE    the connection.json of a running stack, which is used for all attacks that need no settings of their own
  --max-ratio N    the victim's p99 under attack over its p99 alone may be at most this (3)
  --json           the results as JSON instead of tables
  --list           the attacks and what they do`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    parts: { type: 'string' },
    attach: { type: 'string' },
    'max-ratio': { type: 'string', default: '3' },
    json: { type: 'boolean' },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

// An interrupted run takes its stack with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

if (values.help) console.log(usage)
else if (values.list) for (const { name, what } of attacks) console.log(`${name}\n  ${what}`)
else process.exitCode = await main(values.only?.split(',').map(findAttack) ?? attacks)

async function main(chosen: readonly Attack[]): Promise<number> {
  const results: AttackResult[] = []
  let wrongCount = 0
  for (const attack of chosen) {
    say(`${attack.name}: ${attack.what}`)
    const result = await strike(attack).catch((error: unknown) => {
      say(`  It could not be measured: ${(error as Error).stack}`)
      wrongCount++
    })
    if (!result) continue
    results.push(result)
    const wrong = judge(result, {
      maxRatio: attack.maxRatio ?? Number(values['max-ratio']),
      maxGrowthMb: attack.maxGrowthMb,
    })
    wrongCount += wrong.length
    for (const sentence of wrong) say(`  ${sentence}`)
  }
  console.log(values.json ? JSON.stringify(results, null, 2) : `\n${tablesOf(results)}`)
  return wrongCount > 0 ? 1 : 0
}

async function strike(attack: Attack): Promise<AttackResult | null> {
  const parts = values.parts?.split(',') ?? []
  if (values.attach === undefined)
    return withStack({ settings: attack.settings ?? {}, parts }, (stage) => runAttack(attack, stage))
  if (attack.settings) {
    say('  skipped: it needs a stack with settings of its own')
    return null
  }
  return runAttack(attack, await openStage(dirname(resolve(invocationDir, values.attach)), 'full', parts))
}

/** Beside the results, which may be JSON. */
function say(text: string) {
  console.error(text)
}
