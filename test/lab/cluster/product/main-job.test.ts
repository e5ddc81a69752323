// The main job, word for word as on the embedded stack: trainer and model server are pods here.
import '../../../e2e/main-job.stack.test.ts'
