// Workflows of another team: test/temporal/nexus-caller.ts runs them in its own namespace.
import { createNexusServiceClient } from '@temporalio/workflow'
import { annealService, type EvaluationOrder, type FineTuneOrder } from '../../workflows/nexus-service.ts'

const anneal = createNexusServiceClient({ endpoint: 'anneal', service: annealService })

export const tune = (order: FineTuneOrder) => anneal.executeOperation('fineTune', order)

export const compare = (order: EvaluationOrder) => anneal.executeOperation('evaluate', order)
