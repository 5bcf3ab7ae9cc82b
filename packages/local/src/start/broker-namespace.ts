import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The setting BROKER_NAMESPACE of services where nothing says otherwise. */
export const DEFAULT_NAMESPACE = "herald";

/** Keeps, for the commands beside `pnpm start`, under which names its services use the broker. */
export function keepBrokerNamespace(local: string, namespace: string): void {
  writeFileSync(fileIn(local), JSON.stringify({ namespace }), { mode: 0o600 });
}

export function brokerNamespace(local: string): string {
  try {
    return (JSON.parse(readFileSync(fileIn(local), "utf8")) as { namespace: string }).namespace;
  } catch {
    return DEFAULT_NAMESPACE;
  }
}

function fileIn(local: string): string {
  return join(local, "broker.json");
}
