import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from '../api/query-client.ts'
import '../style/all.css'
import { applyTheme } from './theme.ts'

/** Draws a page into its document. */
export function mount(page: ReactNode) {
  applyTheme()
  const root = document.getElementById('root')
  if (root)
    createRoot(root).render(
      <StrictMode>
        <QueryClientProvider client={queryClient}>{page}</QueryClientProvider>
      </StrictMode>,
    )
}
