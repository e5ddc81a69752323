import packageJson from '../../../../package.json' with { type: 'json' }
import { sha256Hex } from '../../../domain/identifiers.ts'
import type { RunProgram, RunSpec } from '../../run.ts'

/** The kinds of our pods. */
type Program = RunProgram | 'python-grader'

const prefix = 'anneal.dev/'
const managedBy = { 'app.kubernetes.io/managed-by': 'anneal' }
/** The value of this label is the program. */
export const componentLabel = 'app.kubernetes.io/component'
/** Every object of a run has this label, whatever its own name. */
export const runLabel = `${prefix}run`
/** The pods of a run on several nodes have this label: a network policy lets them talk to each other. */
export const nodesLabel = `${prefix}nodes`
/** The cluster sets it on each pod of an Indexed Job. */
export const nodeRankAnnotation = 'batch.kubernetes.io/job-completion-index'
export const specHashAnnotation = `${prefix}spec-hash`

const labelValue = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/

/** All labels of an object. `instance` is the installation's name. */
export function objectLabels(program: Program, run: Pick<RunSpec, 'name' | 'labels'>, instance: string) {
  return { ...describingLabels(program, instance), ...runLabels(program, run) }
}

/** For people and their tools. No selector has them, because an upgrade changes the version while runs go on. */
export function describingLabels(program: Program, instance: string) {
  return {
    'app.kubernetes.io/name': `anneal-${program}`,
    'app.kubernetes.io/instance': instance,
    'app.kubernetes.io/version': packageJson.version,
  }
}

/** The labels that identify a run. Selectors have them, so they stay the same in all versions. */
export function runLabels(program: Program, { name, labels }: Pick<RunSpec, 'name' | 'labels'>) {
  return { ...managedBy, [componentLabel]: program, [runLabel]: name, ...prefixed(labels) }
}

/** The labels of the spec, with the hash of the account in place of its id. */
export function readLabels(labels: Record<string, string>): Record<string, string> {
  const ours = Object.entries(labels).filter(([key]) => key.startsWith(prefix) && key !== runLabel)
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(prefix.length), value]))
}

export function isOurs(labels: Record<string, string>): boolean {
  return Object.entries(managedBy).every(([key, value]) => labels[key] === value)
}

export function selectorOfRun(name: string): string {
  return selector({ ...managedBy, [runLabel]: name })
}

/** Selects all runs of a program, or those that have these labels. */
export function selectorOfProgram(program: Program, labels: Record<string, string> = {}): string {
  return selector({ ...managedBy, [componentLabel]: program, ...prefixed(labels) })
}

function prefixed(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, publicValue(key, value)]))
}

function selector(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** A person who may list pods must not learn whose account they belong to. */
function publicValue(key: string, value: string): string {
  return key !== 'account' && labelValue.test(value) ? value : sha256Hex(value).slice(0, 32)
}
