// The command line: anneal <command> [options]. Each command is a file in src/cli.
import { readFileSync } from 'node:fs'
import { CommandError } from './cli/command-error.ts'
import { proposal, runCommand } from './cli/command.ts'
import { commands } from './cli/commands.ts'
import { commandHelp, generalHelp } from './cli/help.ts'
import { UsageError } from './cli/usage-error.ts'

process.exitCode = await main(process.argv.slice(2))

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    console.log(generalHelp(commands))
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-V') {
    console.log(version())
    return 0
  }
  const listed = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!listed)
    return refuse(
      `There is no command "${name}".${proposal(name, Object.keys(commands))}`,
      'anneal --help lists the commands.',
    )
  const { command } = await listed.load()
  const help = commandHelp(name, listed.summary, command)
  if (args.includes('--help') || args.includes('-h')) {
    console.log(help)
    return 0
  }
  try {
    return await runCommand(name, command, args)
  } catch (error) {
    if (isUsageError(error)) return refuse(error.message, help)
    if (error instanceof CommandError) {
      console.error(error.message)
      return error.exitCode
    }
    throw error
  }
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function isUsageError(error: unknown): error is Error {
  const { code } = error as { code?: string }
  return error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true
}

function refuse(message: string, help: string): number {
  console.error(`${message}\n\n${help}`)
  return 2
}
