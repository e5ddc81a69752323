// Icons of 16 pixels, drawn as lines. The text beside an icon, or the label of its button, says what it means.
const paths = {
  jobs: 'M2 2.5v11h12M4.5 10 7 6.5l2.5 2L13.5 4',
  data: 'M13.5 4c0 1.1-2.5 2-5.5 2s-5.5-.9-5.5-2S5 2 8 2s5.5.9 5.5 2Zm-11 0v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4m-11 4c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  models: 'M8 1.5 13.5 4.5v7L8 14.5l-5.5-3v-7ZM2.5 4.5 8 7.5l5.5-3M8 7.5v7',
  playground: 'M2.5 2.5h11v8.5H8L4.5 14v-3h-2Z',
  evaluations: 'M5 8.2 7.2 10.4 11.2 5.9M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z',
  batches: 'M5 2.5h8.5V11M2.5 5H11v8.5H2.5ZM5 8h3.5M5 10.5h3.5',
  usage: 'M3 13.5V9.5M8 13.5v-11M13 13.5v-7',
  settings:
    'M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M12 4.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0ZM8 11.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0Z',
  search: 'M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0Zm-1.3 3.2L14 14',
  theme: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM8 2v12M8 4.5h4.8M8 8h6M8 11.5h4.8',
  person: 'M10.5 5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM2.5 14c.4-3 2.6-4.2 5.5-4.2s5.1 1.2 5.5 4.2',
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8m0-8-8 8',
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)
