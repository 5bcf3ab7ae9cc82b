import { RECEIVER_EXAMPLES } from "./receiver-examples.ts";

/** Languages that the page shows a receiver in. */
export const LANGUAGES = Object.keys(RECEIVER_EXAMPLES) as Language[];
export type Language = keyof typeof RECEIVER_EXAMPLES;

/**
 * A receiver to copy, that keeps every rule of SPEC 4.4.3.
 * @param prefix first part of the header names, e.g. "X-Service".
 */
export function receiverCode(language: Language, prefix: string): string {
  return RECEIVER_EXAMPLES[language].replaceAll("X-Service", prefix).replaceAll("x-service", prefix.toLowerCase());
}
