// Tells the halves of surrogate pairs apart, because a delta may end in the first half of a pair, and the next delta
// then begins with the second half.

/** Whether the UTF-16 unit is the first half of a pair. */
export const isFirstHalf = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** Whether the text begins with the second half of a pair. */
export const startsWithSecondHalf = (text: string) => isSecondHalf(text.charCodeAt(0))
