// The switch that stops new work before a maintenance.
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Confirm } from '../ui/confirm.tsx'
import { When } from '../ui/text.tsx'
import { setMaintenance, type Maintenance } from './overview.ts'

type Props = { maintenance: Maintenance | null; token: string }

export function MaintenanceSwitch({ maintenance, token }: Props) {
  const [isAsking, setAsking] = useState(false)
  const [message, setMessage] = useState('')
  const client = useQueryClient()
  const act = async () => {
    await setMaintenance(token, maintenance ? { on: false } : { on: true, message })
    await client.invalidateQueries({ queryKey: ['overview'] })
  }
  return (
    <>
      {maintenance ? (
        <p>
          New work has been stopped since <When at={maintenance.since} />. {maintenance.message}
        </p>
      ) : (
        <p>New work starts.</p>
      )}
      <button type="button" onClick={() => setAsking(true)}>
        {maintenance ? 'Let new work start' : 'Stop new work'}
      </button>
      {isAsking && (
        <Confirm
          title={maintenance ? 'Let new work start?' : 'Stop new work?'}
          action={maintenance ? 'Let it start' : 'Stop new work'}
          act={act}
          close={() => setAsking(false)}
        >
          {maintenance ? (
            <p>The work that waits starts in the order in which it was accepted.</p>
          ) : (
            <>
              <p>
                Jobs, batches, evaluations and exports are accepted and wait. Running work goes on to its end, and
                requests to models are answered.
              </p>
              <div className="field">
                <label htmlFor="maintenance-message">Message to users</label>
                <input
                  id="maintenance-message"
                  maxLength={500}
                  placeholder="The cluster is upgraded until noon."
                  value={message}
                  onChange={(event) => setMessage(event.target.value)}
                />
              </div>
            </>
          )}
        </Confirm>
      )}
    </>
  )
}
