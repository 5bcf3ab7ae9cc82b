/** Long enough for a machine that is ten times slower, and shorter than jest's own limit, whose error says less. */
const TIMEOUT_MS = 90_000;

/**
 * Repeats a check until it no longer throws, and returns what it returned. At the deadline it throws the check's last
 * error, so that the test says what was still wrong.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = TIMEOUT_MS, intervalMs = 20 } = {},
): Promise<T> {
  const begun = Date.now();
  for (let checks = 1; ; checks += 1) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() - begun > timeoutMs) {
        const last = error instanceof Error ? error : new Error(String(error));
        last.message += `\n(still so after ${timeoutMs} ms and ${checks} checks)`;
        throw last;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}
