// Pages of the documentation, as text. They are part of the bundle, so that they fit the running release.
import access from '../../../docs/access.md?url'
import architecture from '../../../docs/architecture.md?url'
import internalApi from '../../../docs/internal-api.md?url'
import operations from '../../../docs/operations.md?url'
import reliability from '../../../docs/reliability.md?url'
import webhooks from '../../../docs/webhooks.md?url'

const addresses = { access, architecture, 'internal-api': internalApi, operations, reliability, webhooks }

/** Browsers that know text fragments scroll to the chapter. */
export function Docs({ page, chapter }: { page: keyof typeof addresses; chapter: string }) {
  return (
    <a href={`${addresses[page]}#:~:text=${encodeURIComponent(`## ${chapter}`).replaceAll('-', '%2D')}`}>
      docs/{page}.md, “{chapter}”
    </a>
  )
}
