/**
 * Numbers of rows, as they stand in a statement. As parameters they would make a prepared statement of each length of the list, and a
 * server keeps some thousands of those at the most.
 *
 * @throws SyntaxError for anything that is no number
 */
export function listOf(numbers: readonly string[]): string {
  return numbers.map(BigInt).join(",");
}
