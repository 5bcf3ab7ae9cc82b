/** The first version with `uuidv7()`, which is a default value in the tables. */
const OLDEST_POSTGRES = 18;

/**
 * @param versionNumber as `server_version_num` has it: 180004 for 18.4
 * @throws where the server is too old, saying what to do
 */
export function assertSupported(versionNumber: number, versionText: string): void {
  if (versionNumber >= OLDEST_POSTGRES * 10_000) return;
  throw new Error(
    `The database server is PostgreSQL ${versionText}; Herald needs ${OLDEST_POSTGRES} or newer, for uuidv7(). ` +
      "Upgrade the server, or point DATABASE_URL at a newer one.",
  );
}
