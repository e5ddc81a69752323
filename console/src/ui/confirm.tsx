// A question before an action that cannot be taken back. It says what the action does.
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { Failure } from './states.tsx'
import { toast } from './toast.tsx'

type Props = {
  title: string
  children: ReactNode
  action: string
  isDangerous?: boolean
  /** Throws an error with the sentence to show. */
  act: () => Promise<unknown>
  /** The message after it, such as "Deleted bot". */
  done?: string
  close: () => void
}

export function Confirm({ title, children, action, isDangerous = false, act, done, close }: Props) {
  const mutation = useMutation({
    mutationFn: act,
    onSuccess: () => {
      close()
      if (done !== undefined) toast(done)
    },
  })
  return (
    <Dialog title={title} close={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          mutation.mutate()
        }}
      >
        {children}
        {mutation.error && <Failure error={mutation.error} />}
        <div className="buttons">
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" className={isDangerous ? 'danger' : 'primary'} disabled={mutation.isPending}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
