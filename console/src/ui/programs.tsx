import { useState } from 'react'
import { Tabs } from './tabs.tsx'
import { Code } from './text.tsx'

/** The same program in several languages. */
export function Programs({ programs }: { programs: Readonly<Record<string, string>> }) {
  const languages = Object.keys(programs)
  const [language, setLanguage] = useState(languages[0] ?? '')
  return (
    <>
      <Tabs label="Language" value={language} values={languages} onChange={setLanguage} />
      <Code text={programs[language] ?? ''} />
    </>
  )
}
