// A question before an action that cannot be taken back. It says what the action does.
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { Failure } from './states.tsx'

type Props = {
  title: string
  children: ReactNode
  action: string
  isDangerous?: boolean
  /** Throws an error with the sentence to show. */
  act: () => Promise<unknown>
  close: () => void
}

export function Confirm({ title, children, action, isDangerous = false, act, close }: Props) {
  const mutation = useMutation({ mutationFn: act, onSuccess: close })
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
