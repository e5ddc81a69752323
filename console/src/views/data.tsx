// The data sets of the account.
import { Link, useLocation } from 'wouter'
import { useDatasets } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { bytes, count } from '../domain/format.ts'
import { Answer, Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { Upload } from './upload.tsx'

export default function DataView() {
  const datasets = useDatasets()
  const mayStore = useMay('data')
  const [, navigate] = useLocation()
  return (
    <>
      <h1>Data sets</h1>
      {mayStore && <Upload done={({ id }) => navigate(`/data/${encodeURIComponent(id)}`)} />}
      <Answer query={datasets} what="the data sets">
        {(all) =>
          all.length === 0 ? (
            <Empty>No data set yet. Upload a file of rows to train on.</Empty>
          ) : (
            <table className="list">
              <thead>
                <tr>
                  <th scope="col">Data set</th>
                  <th scope="col" className="number">
                    Rows
                  </th>
                  <th scope="col" className="number medium">
                    Size
                  </th>
                  <th scope="col" className="medium">
                    Made
                  </th>
                </tr>
              </thead>
              <tbody>
                {all.map(({ id, name, rows, bytes: size, created }) => (
                  <tr key={id}>
                    <td className="text">
                      <Link href={`/data/${encodeURIComponent(id)}`}>{name}</Link>
                    </td>
                    <td className="number">{rows === null ? '–' : count(rows)}</td>
                    <td className="number medium">{size === null ? '–' : bytes(size)}</td>
                    <td className="medium">{created === null ? '–' : <When at={created} as="age" />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Answer>
    </>
  )
}
