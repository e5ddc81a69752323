/** The API's form of a time: UTC without a zone and with six fraction digits, as in `2026-11-20T10:00:00.123456`. */
export const wireTime = (date: Date) => `${date.toISOString().slice(0, -1)}000`

/** For sentences: `2026-11-20 10:00 UTC`. */
export const minuteOf = (date: Date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
