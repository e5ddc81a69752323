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

/** @param usage begins with a line break if the command takes no arguments of its own */
export const commandHelp = (name: string, summary: string, usage: string) =>
  `Usage: anneal ${name}${usage.startsWith('\n') ? '' : ' '}${usage.trimEnd()}\n\n${summary}`
