const timeoutMs = 3_000

export async function answers200(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  await response.body?.cancel()
  return response.status === 200
}
