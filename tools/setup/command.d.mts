export function killCommands(): void
