/** The oldest version that the tests run on. */
export const OLDEST_POSTGRES = 15;

/**
 * @param versionNumber as `server_version_num` has it: 180004 for 18.4
 * @throws where the server is too old, saying what to do
 */
export function assertSupported(versionNumber: number, versionText: string): void {
  if (versionNumber >= OLDEST_POSTGRES * 10_000) return;
  throw new Error(
    `The database server is PostgreSQL ${versionText}; Herald needs ${OLDEST_POSTGRES} or newer. ` +
      "Upgrade the server, or point DATABASE_URL at a newer one.",
  );
}
