import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import {
  DEFAULT_TIMEOUT_SECONDS,
  httpUrl,
  integer,
  milliseconds,
  oneLine,
  receiverUrl,
  secretsOf,
} from "./arguments.ts";
import { runCheck } from "./check/check-command.ts";
import { createEndpoint } from "./listen/endpoint.ts";
import { type Listener, type ListenerOptions, startListener } from "./listen/listener.ts";
import { localCertificate } from "./listen/local-certificate.ts";

const usage = `herald-listen: tries a receiver of webhooks on your own machine

  herald-listen [--url URL] [--herald URL] [--port 8080] [--host 127.0.0.1] [--tls] [--secret TEXT]...
                [--status 204] [--header-prefix X-Service] [--tolerance 300] [--timeout 15] [--allow-http]
                [-- COMMAND]
      prints every webhook request that it gets, and whether its signature verifies.
      --url hands each request that verifies on to your program as it came, by POST to exactly this URL, prints the
      program's answer, and gives it to the sender. It begins with https://, unless the program runs on this machine, or
      --allow-http lets payloads go over a network in the clear.
      --herald has the Herald at this address send all its events here, to an endpoint that it deletes at the end.
      The address begins with https://, unless that Herald runs on this machine.
      It takes any free port, and HTTPS. A Herald that \`pnpm start\` runs on this machine trusts the certificate.
      COMMAND starts your program, with the endpoint's secret in WEBHOOK_SECRET, and ends with it.
      --tls speaks HTTPS, with the certificate in ~/.herald-listen.pem.

  herald-listen check --url URL         tries your receiver with good, hostile and odd requests; see check --help

  WEBHOOK_SECRET   the endpoint's signing secret, as --secret, but not visible in the process list
  HERALD_TOKEN     for --herald: the access token of a user who may manage webhooks

Any other Herald wants HTTPS at a public address: put a tunnel or a proxy that speaks TLS in front.`;

async function main([first = "", ...rest]: string[]): Promise<void> {
  if (first === "check") process.exitCode = await runCheck(rest);
  else await listen([first, ...rest].filter((argument) => argument !== ""));
}

// The reader of the output may stop early, as `head` does.
process.stdout.on("error", () => process.exit());

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`herald-listen: ${oneLine(error.message)}`);
  process.exitCode = 2;
});

async function listen(args: string[]): Promise<void> {
  const options = readArguments(args);
  if (!options) {
    console.log(usage);
    return;
  }
  const { herald, command } = options;
  const token = process.env.HERALD_TOKEN ?? "";
  if (herald && token === "") throw new Error("--herald wants a token: set HERALD_TOKEN");
  const tls = options.speaksTls ? await localCertificate() : undefined;
  const listener = await startListener({ ...options, ...(tls && { tls }) });
  const endpoint = herald && (await createEndpoint(herald, token, listener.url).catch(closing(listener)));
  if (endpoint) options.secrets.push(endpoint.secret);
  console.log(`listening on ${listener.url}`);
  if (options.forward) console.log(`forwarding to ${options.forward.url.href}`);
  if (endpoint) {
    console.log(
      `Herald sends all its events here, until this command ends${command ? "" : `. Your program verifies with\n  WEBHOOK_SECRET=${oneLine(endpoint.secret)}`}`,
    );
  } else if (options.secrets.length === 0) console.log("no secret given, so nothing will verify: set WEBHOOK_SECRET");
  const { HERALD_TOKEN: _token, ...environment } = process.env;
  const program =
    command &&
    spawn(command[0], command.slice(1), {
      stdio: "inherit",
      env: { ...environment, ...(options.secrets.length > 0 && { WEBHOOK_SECRET: options.secrets.at(-1) }) },
    });
  let ended = false;
  const end = async (signal: NodeJS.Signals) => {
    if (ended) return;
    ended = true;
    program?.kill(signal);
    await listener.close();
    await endpoint
      ?.delete()
      .catch((error: Error) => console.error(`herald-listen: its endpoint is left over: ${oneLine(error.message)}`));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void end(signal));
  program?.on("error", (error) => {
    console.error(`herald-listen: ${command?.[0]} can't be started (${error.message})`);
    process.exitCode = 2;
    void end("SIGTERM");
  });
  program?.on("exit", (code) => {
    process.exitCode = ended ? 0 : (code ?? 1);
    void end("SIGTERM");
  });
}

function closing(listener: Listener): (error: Error) => Promise<never> {
  return async (error) => {
    await listener.close();
    throw error;
  };
}

interface ListenArguments extends ListenerOptions {
  secrets: string[];
  herald?: URL;
  /** The developer's program and its arguments. */
  command?: [string, ...string[]];
  speaksTls: boolean;
}

function readArguments(args: string[]): ListenArguments | null {
  const dashes = args.includes("--") ? args.indexOf("--") : args.length;
  const [program, ...words] = args.slice(dashes + 1);
  const { values } = parseArgs({
    args: args.slice(0, dashes),
    options: {
      port: { type: "string" },
      host: { type: "string", default: "127.0.0.1" },
      secret: { type: "string", multiple: true, default: [] },
      status: { type: "string", default: "204" },
      url: { type: "string" },
      herald: { type: "string" },
      tls: { type: "boolean", default: false },
      "allow-http": { type: "boolean", default: false },
      timeout: { type: "string", default: DEFAULT_TIMEOUT_SECONDS },
      "header-prefix": { type: "string", default: "X-Service" },
      tolerance: { type: "string", default: "300" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const timeoutMs = milliseconds("--timeout", values.timeout);
  return {
    host: values.host,
    port: integer("--port", values.port ?? (values.herald ? "0" : "8080"), 0, 65_535),
    secrets: secretsOf(values.secret),
    status: integer("--status", values.status, 200, 599),
    toleranceSeconds: integer("--tolerance", values.tolerance, 0, Number.MAX_SAFE_INTEGER),
    headerPrefix: values["header-prefix"],
    ...(values.herald !== undefined && { herald: httpUrl("--herald", values.herald, "your token") }),
    ...(program !== undefined && { command: [program, ...words] }),
    speaksTls: values.tls || values.herald !== undefined,
    ...(values.url !== undefined && {
      forward: { url: receiverUrl(values.url, values["allow-http"]), timeoutMs },
    }),
    print: (text) => console.log(text),
    colour: process.stdout.isTTY && !process.env.NO_COLOR,
  };
}
