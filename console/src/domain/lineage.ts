// From which model each version began, as a tree.
type Version = {
  model_name: string
  version: number | null
  base_model: string
  parent: { model_name: string; name: string | null; version: number | null } | null
}

export type Ancestor = { id: string; label: string; name: string | null; children: Ancestor[] }

/**
 * @param name of the versions
 * @returns the models that no listed version began from another one, each with those that began from it
 */
export function lineageOf(name: string, versions: readonly Version[]): Ancestor[] {
  const known = new Map<string, Ancestor>()
  const roots: Ancestor[] = []
  const nodeOf = (id: string, label: string, of: string | null) => {
    const node = known.get(id) ?? { id, label, name: of, children: [] }
    known.set(id, node)
    return node
  }
  const own = new Set(versions.map(({ model_name: id }) => id))
  // The oldest first, so that the tree reads downwards in time.
  for (const { model_name: id, version, base_model: base, parent } of versions.toReversed()) {
    const node = nodeOf(id, version === null ? name : `${name}@${version}`, name)
    const origin = parent
      ? nodeOf(parent.model_name, labelOf(parent), parent.name ?? parent.model_name)
      : nodeOf(`base ${base}`, base, null)
    origin.children.push(node)
    if (!own.has(origin.id) && !roots.includes(origin)) roots.push(origin)
  }
  return roots
}

const labelOf = ({ name, version, model_name: id }: NonNullable<Version['parent']>) =>
  name === null ? id : version === null ? name : `${name}@${version}`
