// What people call the models and data sets that an answer names by their ids only.
import { useQuery } from '@tanstack/react-query'
import { short } from '../domain/format.ts'
import { datasetsQuery } from './data.ts'
import { modelsQuery } from './models.ts'

/** The functions give the beginning of a long id where the service knows no name, such as that of a deleted model. */
export function useNames() {
  const models = useQuery(modelsQuery).data ?? []
  const { datasets = [] } = useQuery(datasetsQuery).data ?? {}
  return {
    /** @param name as a request may name the model */
    modelName: (name: string) => models.find(({ id }) => id === name)?.display_name ?? short(name),
    datasetName: (id: string) => short(datasets.find(({ dataset_id: each }) => each === id)?.display_name ?? id),
  }
}
