// Merges a partial manifest over another as the API server would: maps key by key, lists by the name of their items.

type Json = string | number | boolean | null | undefined | Json[] | { [key: string]: Json }
export type JsonObject = { [key: string]: Json }

/** Items with the same key are one item: merged, or replaced where half an item makes no sense. */
const keyedLists: Record<string, { key: string; merges: boolean }> = {
  containers: { key: 'name', merges: true },
  initContainers: { key: 'name', merges: true },
  env: { key: 'name', merges: false },
  volumes: { key: 'name', merges: false },
  imagePullSecrets: { key: 'name', merges: false },
  volumeMounts: { key: 'mountPath', merges: false },
  ports: { key: 'containerPort', merges: true },
}
const addedLists = ['tolerations', 'envFrom', 'topologySpreadConstraints']

/** The fields of `over` win. A null in `over` removes the field. */
export function mergeTemplate(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base }
  for (const [name, value] of Object.entries(over)) {
    if (value === null) delete merged[name]
    else if (value !== undefined) merged[name] = mergeField(name, base[name], value)
  }
  return merged
}

function mergeField(name: string, base: Json, over: Json): Json {
  if (isObject(base) && isObject(over)) return mergeTemplate(base, over)
  if (!Array.isArray(base) || !Array.isArray(over)) return over
  if (addedLists.includes(name)) return [...base, ...over]
  const keyed = keyedLists[name]
  return keyed ? mergeKeyed(base, over, keyed) : over
}

function mergeKeyed(base: Json[], over: Json[], { key, merges }: { key: string; merges: boolean }): Json[] {
  const merged = [...base]
  for (const item of over) {
    const index = merged.findIndex((each) => isObject(each) && isObject(item) && each[key] === item[key])
    const before = merged[index]
    if (index < 0) merged.push(item)
    else merged[index] = merges && isObject(before) && isObject(item) ? mergeTemplate(before, item) : item
  }
  return merged
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
