// One data set: its report, its first rows, and its versions with the jobs that used them.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { datasetVersionsQuery, previewQuery, refreshData, reportQuery, type Preview, type Report } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { short } from '../domain/format.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Head } from '../ui/head.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useLocation } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { DatasetReport } from './dataset-report.tsx'
import { Versions } from './dataset-versions.tsx'
import { ColumnsOf } from './read-columns.tsx'

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1))

export function DatasetView({ id }: { id: string }) {
  const report = useQuery(reportQuery(id))
  const preview = useQuery(previewQuery(id))
  const newest = useQuery(datasetVersionsQuery(id)).data?.versions[0]
  const name = newest?.file_name ?? short(id)
  usePageTitle(name)
  const [mayTrain, mayStore] = [useMay('training'), useMay('data')]
  const [isDeleting, setDeleting] = useState(false)
  const [, navigate] = useLocation()
  const remove = async () => {
    await api.DELETE('/v1/data/{dataset_id}', { params: { path: { dataset_id: id } } })
    await refreshData()
    navigate('/data')
  }
  return (
    <>
      <p className="crumbs">
        <Link href="/data">Data sets</Link> / {name}
      </p>
      <div className="title">
        <h1 title={id}>{name}</h1>
        <div className="buttons">
          {mayTrain && report.data && isTrainable(report.data) && (
            <Link href={`/new?data=${encodeURIComponent(id)}`} className="button primary">
              Train on it
            </Link>
          )}
          {mayStore && report.data && (
            <button type="button" className="danger" onClick={() => setDeleting(true)}>
              Delete
            </button>
          )}
        </div>
      </div>
      <Answer query={report} what="the check of the rows">
        {(known) =>
          known ? (
            <>
              <ColumnsOf report={known} />
              <DatasetReport report={known} />
            </>
          ) : (
            <Empty>There is no data set {id}.</Empty>
          )
        }
      </Answer>
      <Answer query={preview} what="the rows">
        {(known) => known && known.rows.length > 0 && <FirstRows rows={known.rows} method={known.method} />}
      </Answer>
      <Versions id={id} />
      {isDeleting && (
        <Confirm
          title="Delete this data set?"
          action="Delete"
          isDangerous
          act={remove}
          done={`Deleted ${name}`}
          close={() => setDeleting(false)}
        >
          <p>Its uploads are removed for good. Jobs that used it keep their models.</p>
        </Confirm>
      )}
    </>
  )
}

const isTrainable = ({ state, skippable }: Report) => state === 'valid' || skippable

type Row = Preview['rows'][number]

function FirstRows({ rows, method }: Pick<Preview, 'rows' | 'method'>) {
  return (
    <>
      <h2>First rows</h2>
      {method === 'supervised' ? (
        <p className="quiet">
          As the trainer reads them; <mark>this</mark> is what it learns.
        </p>
      ) : (
        <p className="quiet">Rows of the method {method}.</p>
      )}
      <table className="list cards">
        <Head columns={[['Line', 'number'], 'Input', 'Output']} />
        <tbody>
          {rows.map(
            ({
              index,
              line,
              input,
              output,
              answers,
              messages,
              chat_template: template,
              special_tokens: special,
              error,
            }) => (
              <tr key={index}>
                <td className="number" data-name="Line">
                  {line}
                </td>
                {answers ? (
                  <>
                    <td className="text">{textOf(input)}</td>
                    <td className="text">
                      <Answers answers={answers} method={method} />
                    </td>
                  </>
                ) : messages ? (
                  <td colSpan={2}>
                    <Conversation messages={messages} />
                    {template && <Templated template={template} />}
                  </td>
                ) : error === null ? (
                  <>
                    <td className="text" data-name="Input">
                      {textOf(input)}
                      {special.length > 0 && <p className="quiet">Special tokens act here: {special.join(' ')}</p>}
                    </td>
                    <td className="text" data-name="Output">
                      <mark>{textOf(output)}</mark>
                    </td>
                  </>
                ) : (
                  <td className="text failure" colSpan={2}>
                    {error.field}: {error.reason}
                  </td>
                )}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </>
  )
}

const judgements = { supervised: [], dpo: ['rejected', 'chosen'], kto: ['bad', 'good'], reinforcement: [] }

function Answers({ answers, method }: { answers: NonNullable<Row['answers']>; method: Preview['method'] }) {
  return (
    <ol>
      {answers.map(({ text, good }, index) => (
        <li key={index}>
          <strong>{judgements[method][Number(good)]}</strong> {text}
        </li>
      ))}
    </ol>
  )
}

function Conversation({ messages }: { messages: NonNullable<Row['messages']> }) {
  return (
    <ol>
      {messages.map(({ role, text, learned }, index) => (
        <li key={index} className="text">
          <strong>{role}</strong> {learned ? <mark>{text}</mark> : text}
        </li>
      ))}
    </ol>
  )
}

function Templated({ template }: { template: NonNullable<Row['chat_template']> }) {
  return (
    <details>
      <summary>As {template.model_name} reads it</summary>
      {template.error !== null && <p className="failure">{template.error}</p>}
      {template.sequences.map((parts, index) => (
        <pre key={index} className="text">
          {parts.map(({ text, learned }, at) => (learned ? <mark key={at}>{text}</mark> : text))}
        </pre>
      ))}
    </details>
  )
}
