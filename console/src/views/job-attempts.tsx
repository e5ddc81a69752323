import type { Attempt } from '../api/job.ts'
import { duration } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'

export function JobAttempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <Empty>No attempt has begun yet.</Empty>
  return (
    <table className="list">
      <Head
        columns={[
          'Attempt',
          'How it ended',
          'Steps',
          ['Productive', 'medium'],
          ['Lost', 'medium'],
          ['GPU time', 'wide'],
          ['Began', 'wide'],
        ]}
      />
      <tbody>
        {attempts.map((each) => (
          <tr key={each.attempt}>
            <td>
              {each.attempt}
              {each.mode === 'evaluate' && <span className="quiet"> evaluation</span>}
            </td>
            <td className="text">
              {each.ended_at === null ? 'running' : (each.cause ?? 'done').replaceAll('_', ' ')}
              {each.message && <span className="quiet"> – {each.message}</span>}
            </td>
            <td>
              {each.from_step} to {each.last_step ?? '–'}
            </td>
            <td className="medium">{duration(each.training_seconds.productive)}</td>
            <td className="medium">{duration(each.training_seconds.lost)}</td>
            <td className="wide">{duration(each.gpu_seconds.allocated)}</td>
            <td className="wide">
              <When at={each.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
