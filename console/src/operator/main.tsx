// The page of operators, on the admin port. The operator's token stays in the memory of the page: a reload asks again.
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from '../api/queries.ts'
import '../style.css'
import { applyTheme } from '../ui/theme.ts'
import { OperatorPage } from './page.tsx'

applyTheme()
const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <OperatorPage />
      </QueryClientProvider>
    </StrictMode>,
  )
