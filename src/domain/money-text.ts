/** An amount in words, such as "12.34 EUR". Amounts below a cent keep their own digits, at most six. */
export function moneyText(micros: number, currency: string): string {
  const isSmall = micros !== 0 && Math.abs(micros) < 10_000
  const amount = micros / 1e6
  return `${isSmall ? String(amount) : amount.toFixed(2)} ${currency}`
}
