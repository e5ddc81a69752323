// The data sets of the account.
import { useQuery } from '@tanstack/react-query'
import { datasetsQuery } from '../api/data.ts'
import { bytes, count, short } from '../domain/format.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useLocation } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
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
            <Empty>
              <p>No data set yet. A file that you upload appears here with its rows, its size and its versions.</p>
            </Empty>
          ) : (
            <Table
              label="Data sets"
              rows={all}
              keyOf={({ dataset_id: id }) => id}
              columns={[
                {
                  name: 'Data set',
                  isHead: true,
                  className: 'text',
                  cell: ({ dataset_id: id, file_name: file, bad_rows: bad }) => (
                    <>
                      <Link href={`/data/${encodeURIComponent(id)}`} title={id}>
                        {file ?? short(id)}
                      </Link>
                      <BadCount bad={bad} />
                    </>
                  ),
                },
                { name: 'Rows', className: 'number', cell: ({ rows }) => (rows === null ? '–' : count(rows)) },
                {
                  name: 'Size',
                  className: 'number medium',
                  cell: ({ bytes: size }) => (size === null ? '–' : bytes(size)),
                },
                { name: 'Versions', className: 'number wide', cell: ({ versions }) => versions },
                { name: 'Created', className: 'medium', cell: ({ created_at: at }) => <When at={at} as="age" /> },
              ]}
            />
          )
        }
      </Answer>
    </>
  )
}
