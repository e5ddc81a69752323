// Resumes that race for what is left of the limit.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { withResumes } from '../../support/database.ts'
import { openAccount } from '../../support/stack.ts'

suite('the limit of resumes', async () => {
  const api = await openAccount()

  test('accepts a single resume of many that are sent at once at the limit', async () => {
    // Each run of it fails within a moment: a resume that comes late finds an ended job, and only the limit in its way.
    const location = await api.upload('broken', 'not a data set')
    const id = await api.train({ upload_file_path: location })
    await api.until(id, ({ status }) => status === 'FAILED')
    await withResumes(id, 1)
    const isResumable = async () => (await api.get<{ resumable: boolean }>(`/v1/train/jobs/${id}`)).resumable
    assert.equal(await isResumable(), false, 'the data is the same')
    await fetch(location, { method: 'PUT', body: 'no data set, either' })
    assert.equal(await isResumable(), true)
    const resume = () => api.request<{ detail?: string }>('POST', `/v1/train/jobs/${id}/resume`)
    const answers = await Promise.all(Array.from({ length: 20 }, resume))
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length
    assert.deepEqual([count(200), count(409)], [1, 19])

    const failed = await api.until(id, ({ status }) => status === 'FAILED')
    assert.deepEqual([failed.resume_count, failed.resume_limit], [1, 1])
    assert.equal(await isResumable(), false, 'no resume is left')
    const last = await resume()
    assert.deepEqual(
      [last.status, last.body.detail],
      [409, `Job ${id} has used all of its 1 resumes. Submit a new job.`],
    )
    const { events } = await api.get<{ events: { kind: string; reason: string | null }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    assert.equal(events.filter(({ kind, reason }) => kind === 'command' && reason === 'resume').length, 1)
  })
})
