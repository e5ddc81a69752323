export { fineTune } from './fine-tune.ts'
export { modelServer } from './model-server.ts'
