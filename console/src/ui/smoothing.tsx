/** Sets the weight that smooths curves: 0 shows them as they are, and is given as an empty text. */
export const Smoothing = ({ weight, onChange }: { weight: number; onChange: (weight: string) => void }) => (
  <input
    type="range"
    min={0}
    max={0.98}
    step={0.02}
    value={weight}
    onChange={(event) => onChange(event.target.value === '0' ? '' : event.target.value)}
  />
)
