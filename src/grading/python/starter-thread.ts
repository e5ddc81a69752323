// Runs in a thread: starts the processes of graders, one after the other, and carries lines to each and back. A start copies the
// tables of the starter's memory, which takes milliseconds that the service's own thread does not have.
import { parentPort, type MessagePort } from 'node:worker_threads'
import { startProcess, type Answer, type GraderProcess } from './grader-process.ts'

/** `start`: the words of a command, which says that it has started. A message of `stop` ends it, whatever it is asked. */
export type Question =
  { start: [string, string[]]; stop: MessagePort; atMostMs: number } | { line: string; atMostMs: number }
/** `complaint`: what the command wrote instead of starting. */
export type Reply = Answer & { complaint: string }

let current: GraderProcess | null = null

parentPort?.on('message', (question: Question) => {
  void answer(question).then((reply) => parentPort?.postMessage(reply))
})

async function answer(question: Question): Promise<Reply> {
  if ('start' in question) {
    current = startProcess(question.start)
    question.stop.once('message', current.end)
  }
  if (!current) throw new Error('no process was started')
  const given = await current.ask('line' in question ? question.line : null, question.atMostMs)
  return { ...given, complaint: current.complaint() }
}
