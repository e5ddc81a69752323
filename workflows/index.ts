export { fineTune } from './fine-tune.ts'
