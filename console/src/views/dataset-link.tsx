import { Fragment } from 'react'
import { short } from '../domain/format.ts'
import { Link } from '../ui/router.tsx'

/** A data set by its name. The tooltip has its id. */
export const DatasetLink = ({ id, name }: { id: string; name: string }) => (
  <Link href={`/data/${encodeURIComponent(id)}`} title={id}>
    {short(name)}
  </Link>
)

/** The data sets of one job, each with its weight. */
export const DatasetLinks = ({ sets }: { sets: readonly { dataset_id: string; weight: number }[] }) =>
  sets.map(({ dataset_id: id, weight }, index) => (
    <Fragment key={id}>
      {index > 0 && ', '}
      <DatasetLink id={id} name={id} /> <span className="quiet">weight {weight}</span>
    </Fragment>
  ))
