// No tokenizer has longer tokens. A text that is too long by this measure is refused without minutes of counting in the engine.
const longestTokenCharacters = 256

export const maxTextCharacters = (contextLength: number) => contextLength * longestTokenCharacters
