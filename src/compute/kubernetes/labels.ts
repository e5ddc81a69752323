import { sha256Hex } from '../../domain/identifiers.ts'
import type { RunSpec } from '../compute.ts'

const prefix = 'anneal.dev/'
export const managedBy = { 'app.kubernetes.io/managed-by': 'anneal' }
/** On every object of a run, whatever its own name. */
export const runLabel = `${prefix}run`
export const specHashAnnotation = `${prefix}spec-hash`

const labelValue = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/

export function runLabels({ name, program, labels }: Pick<RunSpec, 'name' | 'program' | 'labels'>) {
  return {
    ...managedBy,
    'app.kubernetes.io/component': program,
    [runLabel]: name,
    ...Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, publicValue(key, value)])),
  }
}

/** The labels of RunSpec, as far as the cluster may know them. */
export function readLabels(labels: Record<string, string>): Record<string, string> {
  const ours = Object.entries(labels).filter(([key]) => key.startsWith(prefix) && key !== runLabel)
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(prefix.length), value]))
}

export function labelSelector(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

export function selectorOfLabels(labels: Record<string, string>): string {
  const ours = Object.entries(labels).map(([key, value]) => [prefix + key, publicValue(key, value)])
  return labelSelector({ ...managedBy, ...Object.fromEntries(ours) })
}

/** Whoever may list pods does not learn whose they are. */
function publicValue(key: string, value: string): string {
  return key !== 'account' && labelValue.test(value) ? value : sha256Hex(value).slice(0, 32)
}
