// The settings of the program that serves Nexus operations.
import { z } from 'zod'
import { parse } from './environment.ts'

const NexusEnvironment = z.object({
  ANNEAL_URL: z.url(),
  ANNEAL_API_KEY: z.string().min(1),
  ANNEAL_NEXUS_TASK_QUEUE: z.string().min(1).optional(),
  ANNEAL_WORKFLOW_BUNDLE: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

/** @throws Error naming each wrong variable */
export function readNexusConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(NexusEnvironment, environment)
  return {
    apiUrl: env.ANNEAL_URL.replace(/\/+$/, ''),
    apiKey: env.ANNEAL_API_KEY,
    taskQueue: env.ANNEAL_NEXUS_TASK_QUEUE,
    workflowBundle: env.ANNEAL_WORKFLOW_BUNDLE,
    logLevel: env.LOG_LEVEL,
  }
}

/** The task queue of the Nexus endpoint, for a check that needs no key. */
export const readNexusTaskQueue = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment['ANNEAL_NEXUS_TASK_QUEUE'] || 'anneal-nexus'
