// The results as Markdown: what the victim felt, what the attacker was answered, and what the processes took.
import type { CountedAnswer } from './attack.ts'
import type { AttackResult } from './run-attack.ts'

type Row = readonly (string | number)[]

export function tablesOf(results: readonly AttackResult[]): string {
  return [victimTable(results), attackerTable(results), memoryTable(results), processorTable(results)].join('\n\n')
}

function victimTable(results: readonly AttackResult[]): string {
  const head = [
    'attack',
    'victim',
    'alone p50',
    'alone p99',
    'attacked p50',
    'attacked p99',
    'p99 ratio',
    'n',
    'refused',
  ]
  const rows = results.flatMap(({ attack, probes }) =>
    probes.map(({ name, alone, underAttack, ratio }) => [
      ...[attack, name, ...[alone.p50Ms, alone.p99Ms, underAttack.p50Ms, underAttack.p99Ms].map(milliseconds)],
      ...[ratio.toFixed(1), `${alone.count}, ${underAttack.count}`, listed(underAttack.refused)],
    ]),
  )
  return table(
    [...head, 'load'],
    rows.map((row) => [...row, loadOf(results, row[0])]),
  )
}

function attackerTable(results: readonly AttackResult[]): string {
  const rows = results.flatMap(({ attack, attacker: { answers, accepted, done } }) => [
    ...answers.map((answer) => [
      attack,
      answer.count,
      kindOf(answer),
      answer.retryAfterSeconds ?? '',
      answer.detail ?? '',
    ]),
    ...(accepted > 0 ? [[attack, accepted, 'accepted for later', '', `${done} done when the attack ended`]] : []),
  ])
  return table(['attack', 'times', 'answer to the attacker', 'Retry-After', 'sentence'], rows)
}

function memoryTable(results: readonly AttackResult[]): string {
  const names = [...new Set(results.flatMap(({ memory }) => memory.map(({ name }) => name)))]
  const rows = results.map(({ attack, memory, restarts }) => [
    attack,
    ...names.map((name) => {
      const found = memory.find((each) => each.name === name)
      return found ? `${found.beforeMb} → ${found.peakMb}` : ''
    }),
    restarts.join(', ') || 'none',
  ])
  return table(['attack', ...names.map((name) => `${name} MB`), 'restarts'], rows)
}

function processorTable(results: readonly AttackResult[]): string {
  const names = [...new Set(results.flatMap(({ processors }) => Object.keys(processors.underAttack)))]
  const rows = results.map(({ attack, processors: { alone, underAttack } }) => [
    attack,
    ...names.map((name) =>
      [alone, underAttack].flatMap((shares) => (shares[name] === undefined ? [] : [percent(shares[name])])).join(' → '),
    ),
  ])
  return table(['attack', ...names.map((name) => `${name} of a processor`)], rows)
}

const percent = (share: number) => `${Math.round(share * 100)} %`
const kindOf = ({ status, code }: CountedAnswer) => (status === 0 ? `${code}` : `${status} ${code ?? ''}`.trim())
const milliseconds = (ms: number) => `${Math.round(ms)} ms`
const listed = (refused: Record<string, number>) =>
  Object.entries(refused)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ') || '0'
const loadOf = (results: readonly AttackResult[], attack: string | undefined) =>
  results.find((result) => result.attack === attack)?.load.toFixed(1) ?? ''

function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
