import type { ListedCommand } from './command.ts'

export function generalHelp(commands: Record<string, ListedCommand>): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)} ${summary}`)
  return [
    'Usage: anneal <command> [options]',
    '',
    ...lines,
    '',
    'anneal <command> --help shows its options; anneal --version shows the version.',
  ].join('\n')
}

export const commandHelp = (name: string, summary: string, usage: string) =>
  `Usage: anneal ${name} ${usage.trim()}\n\n${summary}`
