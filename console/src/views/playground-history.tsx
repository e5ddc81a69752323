import { useState } from 'react'
import { askedBefore, forgetAsked, type Asked } from '../api/asked.ts'
import { readSetup } from '../domain/playground.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'

type Props = { nameOf: (model: string) => string; choose: (asked: Asked) => void; close: () => void }

/** What was asked in this browser. A choice fills in the page again. */
export function AskedBefore({ nameOf, choose, close }: Props) {
  const [asked, setAsked] = useState(askedBefore)
  return (
    <Dialog title="History of this browser" close={close}>
      {asked.length === 0 ? (
        <Empty>
          <p>Your prompts appear here after you ask. They stay in this browser until you sign out.</p>
        </Empty>
      ) : (
        <ol className="history">
          {asked.map((each) => (
            <li key={each.at}>
              <button type="button" className="plain" onClick={() => choose(each)}>
                <span className="cut">{each.prompt}</span>
                <span className="quiet small">
                  {readSetup(each.setup).models.map(nameOf).join(', ')} · <When at={each.at} as="age" />
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
      <div className="buttons">
        {asked.length > 0 && (
          <button
            type="button"
            onClick={() => {
              forgetAsked()
              setAsked([])
            }}
          >
            Clear
          </button>
        )}
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
