// Light or dark: as the system says, until the user chooses.
const storageKey = 'anneal-theme'
const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export function chosenTheme(): Theme {
  const theme = localStorage.getItem(storageKey)
  return themes.find((each) => each === theme) ?? 'system'
}

export function applyTheme(theme: Theme = chosenTheme()) {
  localStorage.setItem(storageKey, theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  tellCurves()
}

/** Curves are drawn on a canvas, which does not follow the style sheet by itself. */
function tellCurves() {
  window.dispatchEvent(new Event('themechange'))
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', tellCurves)

export const nextTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system'
