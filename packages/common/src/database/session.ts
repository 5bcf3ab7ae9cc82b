import { addressOf, Client } from "./client.ts";

/** One connection to PostgreSQL, of no pool of this process. */
export interface Session {
  /** As {@link Client.serverProcessId}. */
  readonly processId: number;
  /** @param name to have the statement prepared under */
  query<Row>(text: string, values?: readonly unknown[], name?: string): Promise<Row[]>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 15_000;

/**
 * Connects at once, for a look from outside at what the services will find.
 *
 * @throws pg's error where there is no connection
 */
export async function openSession(
  url: string,
  { ca, applicationName }: { ca?: string | undefined; applicationName: string },
): Promise<Session> {
  const client = new Client({
    ...addressOf(url, ca),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  await client.connect();
  return {
    processId: client.serverProcessId,
    query: async <Row>(text: string, values: readonly unknown[] = [], name?: string) => {
      const { rows } = await client.query({ text, values: [...values], ...(name !== undefined && { name }) });
      return rows as Row[];
    },
    close: () => client.end(),
  };
}
