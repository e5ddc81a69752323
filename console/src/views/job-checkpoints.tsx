// The checkpoints of a job that a resume can start from, and its model. Each can be asked.
import { useQuery } from '@tanstack/react-query'
import { checkpointsQuery } from '../api/jobs.ts'
import type { Job } from '../api/job.ts'
import { useMay } from '../api/session.ts'
import { loss } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { Link } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'

export function JobCheckpoints({ job, isOpen }: { job: Job; isOpen: boolean }) {
  const mayAsk = useMay('inference')
  const checkpoints = useQuery(checkpointsQuery(job.job_id, isOpen))
  return (
    <Answer query={checkpoints} what="the checkpoints">
      {(all) =>
        all.length === 0 ? (
          <Empty>Nothing is saved: the job is young, or its checkpoints were removed after its end.</Empty>
        ) : (
          <table className="list">
            <Head columns={['After step', 'Held-out loss', 'Training loss', ['Saved', 'medium'], 'Model']} />
            <tbody>
              {all.map(({ id, created_at: at, display_name: name, fine_tuned_model_checkpoint: model, ...rest }) => (
                <tr key={id}>
                  <td>{rest.step_number}</td>
                  <td>{loss(rest.metrics.full_valid_loss ?? rest.metrics.valid_loss)}</td>
                  <td>{loss(rest.metrics.train_loss)}</td>
                  <td className="medium">
                    <When at={new Date(at * 1000)} />
                  </td>
                  <td className="text">
                    {mayAsk ? (
                      <Link href={`/playground?models=${encodeURIComponent(model)}`} title={model}>
                        {name}
                      </Link>
                    ) : (
                      <span title={model}>{name}</span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Answer>
  )
}
