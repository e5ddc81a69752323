export const processNames = ['postgres', 'temporal', 's3', 'api', 'worker'] as const
export type ProcessName = (typeof processNames)[number]
