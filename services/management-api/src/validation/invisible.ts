/**
 * Characters that show as nothing, and change how the rest shows or hide text in it: direction marks, zero-width spaces, tags.
 * The two joiners stay where they join: emoji, Persian and many scripts of India are written with them. Beside a Latin, Greek or
 * Cyrillic letter, a digit, a space or an end they join nothing.
 */
const INVISIBLE = /(?=\p{Cf})(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u;
const JOINS_NOTHING =
  /(?:^|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}\s\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?:$|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}\s])/u;

/** Whether a name could pass for another one by characters that nobody sees. */
export function hasInvisible(text: string): boolean {
  return INVISIBLE.test(text) || JOINS_NOTHING.test(text);
}
