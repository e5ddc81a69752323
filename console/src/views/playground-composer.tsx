type Props = {
  prompt: string
  setPrompt: (prompt: string) => void
  problem: string | undefined
  canAsk: boolean
  submit: () => void
}

/** Where a prompt is written. Ctrl and Enter ask it. */
export function Composer({ prompt, setPrompt, problem, canAsk, submit }: Props) {
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        if (canAsk) submit()
      }}
    >
      <label htmlFor="prompt" className="hidden">
        Prompt
      </label>
      <textarea
        id="prompt"
        rows={3}
        required
        placeholder="Ask something"
        value={prompt}
        onChange={(event) => setPrompt(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
        }}
      />
      <div className="buttons">
        <button type="submit" className="primary" disabled={!canAsk}>
          Ask
        </button>
        <span className="quiet small">
          <kbd>Ctrl Enter</kbd>
        </span>
      </div>
      {problem && <p className="notice failure">{problem}</p>}
    </form>
  )
}
