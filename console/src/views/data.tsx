// The data sets of the account.
import { useQuery } from '@tanstack/react-query'
import { datasetsQuery } from '../api/data.ts'
import { bytes, count } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useLocation } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { BadCount, When } from '../ui/text.tsx'
import { Upload } from './upload.tsx'

export function DataView() {
  usePageTitle('Data')
  const datasets = useQuery(datasetsQuery)
  const [, navigate] = useLocation()
  return (
    <>
      <h1>Data sets</h1>
      <Upload done={({ id }) => navigate(`/data/${encodeURIComponent(id)}`)} />
      <Answer query={datasets} what="the data sets">
        {({ datasets: all }) =>
          all.length === 0 ? (
            <Empty>No data set yet. Upload a file of rows to train on.</Empty>
          ) : (
            <table className="list">
              <Head
                columns={[
                  'Data set',
                  ['Rows', 'number'],
                  ['Size', 'number medium'],
                  ['Versions', 'number wide'],
                  ['Made', 'medium'],
                ]}
              />
              <tbody>
                {all.map(
                  ({
                    dataset_id: id,
                    file_name: file,
                    rows,
                    bytes: size,
                    created_at: created,
                    bad_rows: bad,
                    versions,
                  }) => (
                    <tr key={id}>
                      <td className="text">
                        <Link href={`/data/${encodeURIComponent(id)}`}>{file ?? id}</Link>
                        <BadCount bad={bad} />
                      </td>
                      <td className="number">{rows === null ? '–' : count(rows)}</td>
                      <td className="number medium">{size === null ? '–' : bytes(size)}</td>
                      <td className="number wide">{versions}</td>
                      <td className="medium">
                        <When at={created} as="age" />
                      </td>
                    </tr>
                  ),
                )}
              </tbody>
            </table>
          )
        }
      </Answer>
    </>
  )
}
