/**
 * A receiver to copy, that keeps every rule of SPEC 4.4.3.
 *
 * @param example its program, with the default names of headers
 * @param prefix first part of the header names, e.g. "X-Service"
 */
export function receiverCode(example: string, prefix: string): string {
  return example.replaceAll("X-Service", prefix).replaceAll("x-service", prefix.toLowerCase());
}
