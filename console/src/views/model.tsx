// One name of tuned models: its versions with what each was made from and how it scored, and its aliases.
import { useQuery } from '@tanstack/react-query'
import { versionsQuery } from '../api/models.ts'
import type { components } from '../api/types.ts'
import { short } from '../domain/format.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link } from '../ui/router.tsx'
import { Answer } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { Scores } from './job-evaluation.tsx'

type Version = components['schemas']['ModelVersions']['versions'][number]

const mostCompared = 8

export function ModelView({ name }: { name: string }) {
  usePageTitle(short(name))
  const versions = useQuery(versionsQuery(name))
  return (
    <>
      <p className="crumbs">
        <Link href="/models">Models</Link> / {short(name)}
      </p>
      <h1>{short(name)}</h1>
      <Answer query={versions} what="the versions">
        {({ versions: all, aliases }) => (
          <>
            {aliases.length > 0 && (
              <ul>
                {aliases.map(({ alias, version, moved_at: moved }) => (
                  <li key={alias}>
                    <code>{`${name}@${alias}`}</code> is version {version}, since <When at={moved} />
                  </li>
                ))}
              </ul>
            )}
            {all.length > 1 && (
              <p>
                <Link
                  href={`/compare?jobs=${all
                    .slice(0, mostCompared)
                    .map(({ job_id: id }) => id)
                    .join()}`}
                >
                  Compare {all.length > mostCompared ? `the newest ${mostCompared}` : 'its versions'}
                </Link>
              </p>
            )}
            <Versions versions={all} />
          </>
        )}
      </Answer>
    </>
  )
}

function Versions({ versions }: { versions: Version[] }) {
  return (
    <table className="list">
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Began from</th>
          <th scope="col" className="medium">
            Data set
          </th>
          <th scope="col">Job</th>
          <th scope="col">Scores</th>
          <th scope="col" className="wide">
            Made
          </th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => (
          <tr key={version.model_name}>
            <th scope="row" title={version.model_name}>
              {version.version ?? short(version.model_name)}
            </th>
            <td className="text">
              <Origin version={version} />
            </td>
            <td className="medium text">
              <Link href={`/data/${encodeURIComponent(version.dataset_id)}`}>{version.dataset_id}</Link>
            </td>
            <td>
              <Link href={`/jobs/${version.job_id}`}>{version.job_id}</Link>
            </td>
            <td className="text">
              {version.evaluation === null ? 'none' : <Scores summary={version.evaluation.scores} />}
            </td>
            <td className="wide">
              <When at={version.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Origin({ version: { parent, base_model: base } }: { version: Version }) {
  if (parent === null) return base
  const name = parent.name ?? parent.model_name
  const version = parent.version === null ? '' : `@${parent.version}`
  return <Link href={`/models/${encodeURIComponent(name)}`}>{short(name) + version}</Link>
}
