import type { Command } from './command.ts'

export function generalHelp(commands: Record<string, Command>): string {
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`)
  return ['Usage: anneal <command> [options]', '', ...lines, '', 'anneal <command> --help shows its options.'].join(
    '\n',
  )
}

export function commandHelp(name: string, { summary, usage }: Command): string {
  return `Usage: anneal ${name} ${usage.trim()}\n\n${summary}`
}
