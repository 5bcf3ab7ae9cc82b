import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type ListenerOptions, startListener } from "./listener.ts";

const usage = `herald-listen: prints every webhook request that it gets, and whether its signature verifies

  herald-listen [--port 8080] [--host 127.0.0.1] [--secret TEXT]... [--status 204]
                [--tls-cert FILE --tls-key FILE] [--header-prefix X-Service] [--tolerance 300]

  HERALD_SECRET   the endpoint's signing secret, as --secret, but not visible in the process list

The sender wants HTTPS: give a certificate, or put a tunnel or a proxy that speaks TLS in front.`;

try {
  const options = readArguments();
  if (options) await run(options);
  else console.log(usage);
} catch (error) {
  console.error(`herald-listen: ${(error as Error).message}`);
  process.exitCode = 2;
}

async function run(options: ListenerOptions): Promise<void> {
  const listener = await startListener(options);
  console.log(`listening on ${listener.url}`);
  if (options.secrets.length === 0) console.log("no secret given, so nothing will verify: set HERALD_SECRET");
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void listener.close());
  }
}

function readArguments(): ListenerOptions | null {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "8080" },
      host: { type: "string", default: "127.0.0.1" },
      secret: { type: "string", multiple: true, default: [] },
      status: { type: "string", default: "204" },
      "tls-cert": { type: "string" },
      "tls-key": { type: "string" },
      "header-prefix": { type: "string", default: "X-Service" },
      tolerance: { type: "string", default: "300" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const [certFile, keyFile] = [values["tls-cert"], values["tls-key"]];
  if (!certFile !== !keyFile) throw new Error("--tls-cert and --tls-key go together");
  return {
    host: values.host,
    port: integer("--port", values.port, 0, 65_535),
    secrets: [...values.secret, process.env.HERALD_SECRET ?? ""].filter((secret) => secret !== ""),
    status: integer("--status", values.status, 200, 599),
    toleranceSeconds: integer("--tolerance", values.tolerance, 0, Number.MAX_SAFE_INTEGER),
    headerPrefix: values["header-prefix"],
    ...(certFile && keyFile
      ? { tls: { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") } }
      : {}),
    print: (text) => console.log(text),
    colour: process.stdout.isTTY && !process.env.NO_COLOR,
  };
}

function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new Error(`${name} must be a whole number from ${min} to ${max}`);
  return value;
}
