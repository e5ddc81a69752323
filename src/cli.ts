// The command line: anneal <command> [options]. Each command is a file in src/cli.
import type { Command } from './cli/command.ts'
import { accounts } from './cli/accounts.ts'
import { cancel } from './cli/cancel.ts'
import { complete } from './cli/complete.ts'
import { demo } from './cli/demo.ts'
import { embed } from './cli/embed.ts'
import { evaluation } from './cli/eval.ts'
import { commandHelp, generalHelp } from './cli/help.ts'
import { job } from './cli/job.ts'
import { jobs } from './cli/jobs.ts'
import { keys } from './cli/keys.ts'
import { migrate } from './cli/migrate.ts'
import { register } from './cli/register.ts'
import { resume } from './cli/resume.ts'
import { start } from './cli/start.ts'
import { stop } from './cli/stop.ts'
import { train } from './cli/train.ts'
import { upload } from './cli/upload.ts'
import { UsageError } from './cli/usage-error.ts'

const service = { train, jobs, job, cancel, resume, eval: evaluation, complete, embed, upload, keys, accounts }
const operation = { migrate, register }
const commands: Record<string, Command> = { start, stop, demo, ...service, ...operation }

process.exitCode = await main(process.argv.slice(2))

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    console.log(generalHelp(commands))
    return name === undefined ? 2 : 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return refuse(`There is no command "${name}".`, generalHelp(commands))
  if (args.includes('--help') || args.includes('-h')) {
    console.log(commandHelp(name, command))
    return 0
  }
  try {
    return await command.run(args)
  } catch (error) {
    if (isUsageError(error)) return refuse(error.message, commandHelp(name, command))
    throw error
  }
}

function isUsageError(error: unknown): error is Error {
  const { code } = error as { code?: string }
  return error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true
}

function refuse(message: string, help: string): number {
  console.error(`${message}\n\n${help}`)
  return 2
}
