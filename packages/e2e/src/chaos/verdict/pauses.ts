/** The longest time without any arrival that began after `from` and before `until`; all in milliseconds. Pure. */
export function longestPauseAfter(arrivals: readonly number[], from: number, until: number): number {
  let longest = 0;
  let last = from;
  for (const at of [...arrivals].filter((each) => each > from).sort((a, b) => a - b)) {
    longest = Math.max(longest, at - last);
    last = at;
    if (at > until) return longest;
  }
  return Math.max(longest, until - last);
}
