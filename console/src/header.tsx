// The row above every page: the pages, and what belongs to the user. On a narrow page it shows icons.
import { useState } from 'react'
import { Icon, type IconName } from './ui/icon.tsx'
import { Link } from './ui/router.tsx'
import { applyTheme, chosenTheme, nextTheme } from './ui/theme.ts'

const pages = [
  ['/jobs', 'Jobs', 'jobs'],
  ['/data', 'Data', 'data'],
  ['/models', 'Models', 'models'],
  ['/evaluations', 'Evaluations', 'evaluations'],
  ['/batches', 'Batches', 'batches'],
  ['/playground', 'Playground', 'playground'],
  ['/usage', 'Usage', 'usage'],
  ['/settings', 'Settings', 'settings'],
] as const satisfies readonly (readonly [string, string, IconName])[]

type Props = {
  /** The first part of the address, such as "jobs". */
  place: string
  find: () => void
  showHelp: () => void
}

export function Header({ place, find, showHelp }: Props) {
  return (
    <header className="top">
      <Link href="/jobs" className="brand" aria-label="Anneal">
        <img src="/console/icon.svg" alt="" width="20" height="20" />
        <span className="word">Anneal</span>
      </Link>
      <nav aria-label="Pages">
        {pages.map(([path, name, icon]) => (
          <Link key={path} href={path} title={name} aria-current={`/${place}` === path ? 'page' : undefined}>
            <Icon name={icon} />
            <span className="word">{name}</span>
          </Link>
        ))}
      </nav>
      <div className="tools">
        <button type="button" className="plain" title="Find (Ctrl K)" onClick={find}>
          <Icon name="search" />
          <span className="hidden">Find</span> <kbd className="word">Ctrl K</kbd>
        </button>
        <ThemeButton />
        <button
          type="button"
          className="plain"
          aria-label="Keys and account"
          title="Keys and account"
          onClick={showHelp}
        >
          <Icon name="person" />
        </button>
      </div>
    </header>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme)
  const label = `Theme: ${theme}`
  return (
    <button
      type="button"
      className="plain"
      aria-label={label}
      title={label}
      onClick={() => {
        const next = nextTheme(theme)
        applyTheme(next)
        setTheme(next)
      }}
    >
      <Icon name="theme" />
    </button>
  )
}
