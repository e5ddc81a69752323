// The pages that draw curves. They are loaded together with the library that draws.
export { CompareView } from './compare.tsx'
export { JobView } from './job.tsx'
export { ModelView } from './model.tsx'
