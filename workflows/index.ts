export { fineTune } from './fine-tune.ts'
export { inferenceBatch } from './inference-batch.ts'
export { modelServer } from './model-server.ts'
