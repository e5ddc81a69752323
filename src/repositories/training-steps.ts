import type { TrainingStep } from '../domain/training-job.ts'
import type { Connection } from './database.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

export const createTrainingStepRepository = (db: Connection, run: RunStatement) => ({
  /** A repeated step replaces the old one: a lost reply or a killed attempt leaves no duplicate. */
  async upsertMany(jobId: number, attempt: number, steps: readonly TrainingStep[]) {
    const column = <K extends keyof TrainingStep>(name: K) => steps.map((each) => each[name])
    await db.$executeRaw`
      insert into training_steps (job_id, attempt, step, loss, learning_rate, epoch, iter_time, flops, remaining_time)
      select ${jobId}::int, ${attempt}::int, * from unnest(
        ${column('step')}::int[], ${column('loss')}::float8[], ${column('learning_rate')}::float8[], ${column('epoch')}::float8[],
        ${column('iter_time')}::float8[], ${column('flops')}::float8[], ${column('remaining_time')}::float8[])
      on conflict (job_id, step) do update set
        attempt = excluded.attempt, loss = excluded.loss, learning_rate = excluded.learning_rate, epoch = excluded.epoch,
        iter_time = excluded.iter_time, flops = excluded.flops, remaining_time = excluded.remaining_time, at = now()`
  },

  /** Deletes the steps after the checkpoint from which an attempt starts. */
  async deleteAfter(jobId: number, step: number) {
    await db.trainingStep.deleteMany({ where: { jobId, step: { gt: step } } })
  },

  list: (jobId: number): Promise<TrainingStep[]> => run(listSteps, [jobId]),
})

const listSteps: Statement = {
  name: 'list-steps',
  text: `
    select loss, learning_rate, epoch, iter_time, flops, remaining_time, step
    from training_steps where job_id = $1::int order by step`,
}
