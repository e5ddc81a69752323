/** Sets the weight that smooths curves: 0 shows them as they are. */
export const Smoothing = ({ weight, onChange }: { weight: number; onChange: (weight: number) => void }) => (
  <input
    type="range"
    min={0}
    max={0.98}
    step={0.02}
    value={weight}
    onChange={(event) => onChange(Number(event.target.value))}
  />
)
