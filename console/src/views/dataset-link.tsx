import { short } from '../domain/format.ts'
import { Link } from '../ui/router.tsx'

/** A data set by its name. The tooltip has its id. */
export const DatasetLink = ({ id, name }: { id: string; name: string }) => (
  <Link href={`/data/${encodeURIComponent(id)}`} title={id}>
    {short(name)}
  </Link>
)
