// Slots, claims, fences, what an attempt saved, and what decides whether it goes on.
import type { Doubles } from './doubles.ts'
import { broken } from '../breaks.ts'
import type { Row, Session } from './rows.ts'
import { insert, keyOf } from './tables.ts'

const dayMs = 24 * 60 * 60_000
const time = (value: unknown) => (value as Date | null)?.getTime() ?? 0
const holdsSlot = (row: Row) => row['grantedAt'] !== null && row['releasedAt'] === null
const hasToken = (tokenHash: Uint8Array) => (row: Row) =>
  Buffer.compare(row['tokenHash'] as Uint8Array, tokenHash) === 0

export const attemptDoubles: Doubles = {
  'take slot lock': ['7d91b62b', (session, [id]) => session.lock('advisory', String(id))],

  'grant slots': [
    '1b848548',
    async (session, [slots, workflowPrefix, askingJobId]) => {
      const running = runningByAccount(session)
      const free = slots - [...running.values()].reduce((sum, count) => sum + count, 0)
      const waiting = session
        .all('attempt', (row) => row['grantedAt'] === null && row['releasedAt'] === null && row['fencedAt'] === null)
        .map(([, row]) => row)
        .toSorted(byAge)
        .map((row) => ({ row, turn: countOne(running, row['accountId']) }))
      const chosen = waiting.toSorted((a, b) => a.turn - b.turn || byAge(a.row, b.row)).slice(0, Math.max(0, free))
      const ids = new Set(chosen.map(({ row }) => row['id']))
      const isChosen = ({ id }: Row) => ids.has(id)
      const grantedAt = new Date(session.nowMs)
      const granted = await session.update('attempt', isChosen, (row) => ({ ...row, grantedAt }))
      return tell(session, String(workflowPrefix), granted, (row) => row['jobId'] !== askingJobId)
    },
  ],

  'tell of slots again': [
    '4677b40d',
    (session, [workflowPrefix, afterMs]) => {
      const holding = session.all('attempt', holdsSlot).map(([, row]) => row)
      const toldMs = ({ jobId }: Row) => {
        const workflowId = `${String(workflowPrefix)}${String(jobId)}`
        return session
          .all('outboxMessage', (each) => each['workflowId'] === workflowId && each['kind'] === 'slot')
          .map(([, each]) => time(each['createdAt']))
      }
      const isDue = (row: Row) => {
        const grantedMs = time(row['grantedAt'])
        const halfMs = session.nowMs - (session.nowMs - grantedMs) / 2
        const isSilent = Math.max(grantedMs, time(row['heardAt'])) <= session.nowMs - afterMs
        return isSilent && !toldMs(row).some((ms) => ms > halfMs)
      }
      return tell(session, String(workflowPrefix), holding, isDue)
    },
  ],

  'claim attempt': [
    '1b611054',
    async (session, [tokenHash, claimId]) => {
      const [found] = session.all('attempt', hasToken(tokenHash))
      if (!found) return []
      await session.lock('attempt', found[0])
      const row = session.get('attempt', found[0]) as Row
      const job = session.get('trainingJob', String(row['jobId']))
      const isHeld = row['claimId'] !== null && row['claimId'] !== claimId
      const mayClaim = isUnfenced(row, job) && job?.['cancelRequestedAt'] === null
      if (isHeld || !(mayClaim || broken.fence)) return []
      const now = new Date(session.nowMs)
      const claimed = {
        claimId,
        claimedAt: row['claimedAt'] ?? now,
        heardAt: now,
        phase: row['phase'] ?? 'LOADING DATA',
      }
      session.put('attempt', found[0], { ...row, ...claimed })
      return [{ id: row['id'], first: row['claimId'] === null }]
    },
  ],

  'hold unfenced attempt': [
    '9d757745',
    async (session, [tokenHash]) => {
      const [found] = session.all('attempt', hasToken(tokenHash))
      if (!found) return []
      await session.lock('attempt', found[0])
      const row = session.get('attempt', found[0]) as Row
      const isWriting = isUnfenced(row, session.get('trainingJob', String(row['jobId']))) || broken.fence
      return isWriting && row['claimId'] !== null ? [{ id: row['id'] }] : []
    },
  ],

  'hear from attempt': [
    'b5c3c05e',
    async (session, [jobId, number]) => {
      const now = new Date(session.nowMs)
      const isIt = (row: Row) => row['jobId'] === jobId && row['number'] === number
      const isWorking = (row: Row) => row['phase'] !== null && row['phase'] !== 'LOADING DATA'
      const heard = (row: Row) => ({
        ...row,
        heardAt: now,
        workingAt: row['workingAt'] ?? (isWorking(row) ? now : null),
      })
      return (await session.update('attempt', isIt, heard)).length
    },
  ],

  'commit artifact': [
    '08517f98',
    async (session, [id]) => {
      const committedAt = new Date(session.nowMs)
      const isIt = (row: Row) => row['id'] === id && row['committedAt'] === null
      return (await session.update('artifact', isIt, (row) => ({ ...row, committedAt }))).length
    },
  ],

  'release attempt': [
    '38a3f9e1',
    async (session, [cause, exitCode, message, jobId, number]) => {
      const now = new Date(session.nowMs)
      const end = { cause, exitCode, message, endedAt: now, fencedAt: now, releasedAt: now }
      const isIt = (row: Row) => row['jobId'] === jobId && row['number'] === number && row['releasedAt'] === null
      const [released] = await session.update('attempt', isIt, (row) => ({ ...row, ...end }))
      if (released && released['claimedAt'] !== null) await countTraining(session, released)
    },
  ],

  'look at attempt': [
    '1d953f23',
    async (session, [jobId, number]) => {
      const row = attemptAt(session, jobId, number)
      if (!row) return []
      const sinceMs = (from: unknown, to: unknown = null) => (to === null ? session.nowMs : time(to)) - time(from)
      const artifacts = session.all('artifact', (each) => each['jobId'] === jobId && each['attempt'] === number)
      const signs = [row['heardAt'], ...artifacts.flatMap(([, each]) => [each['createdAt'], each['committedAt']])]
      const heardMs = Math.max(...signs.map(time))
      const ofGeneration = session.all(
        'attempt',
        (each) => each['jobId'] === jobId && each['generation'] === row['generation'] && each['claimedAt'] !== null,
      )
      return [
        {
          phase: row['phase'],
          ranForMs: row['claimedAt'] === null ? 0 : sinceMs(row['claimedAt']),
          silentForMs: heardMs === 0 ? null : session.nowMs - heardMs,
          medianStepMs: medianStepMs(session, jobId),
          jobRanForMs: ofGeneration.reduce((sum, [, each]) => sum + sinceMs(each['claimedAt'], each['endedAt']), 0),
        },
      ]
    },
  ],

  'see who waits': [
    'd6723675',
    async (session, [jobId, number]) => {
      const running = runningByAccount(session)
      const mine = attemptAt(session, jobId, number)
      if (!mine) return []
      const count = (accountId: unknown) => running.get(accountId) ?? 0
      const others = session.all(
        'attempt',
        (row) =>
          row['jobId'] !== jobId &&
          row['releasedAt'] === null &&
          row['fencedAt'] === null &&
          row['claimedAt'] === null &&
          (row['grantedAt'] === null || time(row['grantedAt']) < session.nowMs - 60_000) &&
          (row['accountId'] === mine['accountId'] ||
            (running.has(mine['accountId']) && count(row['accountId']) < count(mine['accountId']))),
      )
      return others.slice(0, 1).map(() => ({}))
    },
  ],
}

/** The jobs of a schedule ask for no GPU. */
async function countTraining(session: Session, { accountId, jobId, claimedAt }: Row) {
  const job = session.get('trainingJob', String(jobId)) as Row
  const day = new Date(session.nowMs - (session.nowMs % dayMs))
  const row = { accountId, day, apiKeyId: job['apiKeyId'], model: job['baseModel'] }
  const key = keyOf('usageDay', row)
  await session.lock('usageDay', key)
  const before = Number(session.get('usageDay', key)?.['trainingSeconds'] ?? 0)
  const trainingSeconds = before + (session.nowMs - time(claimedAt)) / 1000
  session.put('usageDay', key, { ...row, trainingSeconds, gpuSeconds: 0 })
}

function runningByAccount(session: Session): Map<unknown, number> {
  const running = new Map<unknown, number>()
  for (const [, row] of session.all('attempt', holdsSlot)) countOne(running, row['accountId'])
  return running
}

function countOne(counts: Map<unknown, number>, key: unknown): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}

const byAge = (a: Row, b: Row) =>
  time(a['createdAt']) - time(b['createdAt']) || (String(a['id']) < String(b['id']) ? -1 : 1)

const isUnfenced = (row: Row, job: Row | null) =>
  row['number'] === job?.['currentAttempt'] && row['fencedAt'] === null && row['releasedAt'] === null

const attemptAt = (session: Session, jobId: unknown, number: unknown): Row | undefined =>
  session.all('attempt', (each) => each['jobId'] === jobId && each['number'] === number)[0]?.[1]

/** Of the newest twenty; between the two in the middle where there is no middle one. */
function medianStepMs(session: Session, jobId: unknown): number | null {
  const times = session
    .all('trainingStep', (each) => each['jobId'] === jobId)
    .toSorted(([, a], [, b]) => Number(b['step']) - Number(a['step']))
    .slice(0, 20)
    .map(([, each]) => Number(each['iterTime']))
    .toSorted((a, b) => a - b)
  const [low, high] = [times[(times.length - 1) >> 1], times[times.length >> 1]]
  return low === undefined || high === undefined ? null : ((low + high) / 2) * 1000
}

/** Tells their workflows of the slots of these attempts. @returns how many */
async function tell(session: Session, workflowPrefix: string, rows: readonly Row[], isTold: (row: Row) => boolean) {
  const told = rows.filter(isTold).toSorted((a, b) => Number(a['jobId']) - Number(b['jobId']))
  for (const { jobId, generation, number: attempt } of told) {
    const workflowId = `${workflowPrefix}${String(jobId)}`
    await insert(session, 'outboxMessage', { workflowId, kind: 'slot', generation, payload: { attempt } })
  }
  return told.length
}
