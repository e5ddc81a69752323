// The versions of a data set, and the jobs that trained or were evaluated on each.
import { useQuery } from '@tanstack/react-query'
import { datasetVersionsQuery } from '../api/data.ts'
import { useJobs } from '../api/job-list.ts'
import { bytes, count } from '../domain/format.ts'
import { numberedName } from '../domain/job-list.ts'
import { Head } from '../ui/head.tsx'
import { Link } from '../ui/router.tsx'
import { Answer } from '../ui/states.tsx'
import { BadCount, When } from '../ui/text.tsx'

export function Versions({ id }: { id: string }) {
  const versions = useQuery(datasetVersionsQuery(id))
  const jobs = useJobs()
  const jobName = (jobId: number) => {
    const job = jobs.data?.find((each) => each.job_id === jobId)
    return job ? numberedName(job) : `job ${jobId}`
  }
  return (
    <Answer query={versions} what="the versions">
      {(known) =>
        known && (
          <>
            <h2>Versions</h2>
            <table className="list">
              <Head
                columns={[
                  ['Version', 'number'],
                  ['Rows', 'number'],
                  ['Size', 'number medium'],
                  'Jobs that train or evaluate on it',
                  ['Made', 'medium'],
                ]}
              />
              <tbody>
                {known.versions.map(
                  ({ version, created_at: created, rows, bad_rows: bad, bytes: size, job_ids: jobIds }) => (
                    <tr key={version}>
                      <td className="number">{version}</td>
                      <td className="number">
                        {rows === null ? 'not read yet' : count(rows)}
                        <BadCount bad={bad} />
                      </td>
                      <td className="number medium">{size === null ? '–' : bytes(size)}</td>
                      <td className="text">
                        {jobIds.length === 0 && 'none'}
                        {jobIds.map((jobId, index) => (
                          <span key={jobId}>
                            {index > 0 && ', '}
                            <Link href={`/jobs/${jobId}`}>{jobName(jobId)}</Link>
                          </span>
                        ))}
                      </td>
                      <td className="medium">
                        <When at={created} />
                      </td>
                    </tr>
                  ),
                )}
              </tbody>
            </table>
          </>
        )
      }
    </Answer>
  )
}
