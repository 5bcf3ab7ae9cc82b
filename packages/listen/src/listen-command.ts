import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { DEFAULT_TIMEOUT_SECONDS, httpUrl, integer, milliseconds, secretsOf } from "./arguments.ts";
import { runCheck } from "./check/check-command.ts";
import { type ListenerOptions, startListener } from "./listen/listener.ts";
import { runSend } from "./send/send-command.ts";

const usage = `herald-listen: tries a receiver of webhooks on your own machine

  herald-listen [--port 8080] [--host 127.0.0.1] [--secret TEXT]... [--status 204] [--forward URL [--forward-all]]
                [--tls-cert FILE --tls-key FILE] [--header-prefix X-Service] [--tolerance 300] [--timeout 15]
      prints every webhook request that it gets, and whether its signature verifies.
      --forward hands each request that verifies on to your program as it came, by POST to exactly this URL, prints the
      program's answer, and gives it to the sender. --forward-all hands on everything, by any method, and a URL without a
      path keeps the path that was received: behind a tunnel, anybody then reaches all of your program.

  herald-listen send TYPE --url URL     sends your receiver a signed sample of an event
  herald-listen check URL               tries your receiver with good, hostile and odd requests
      Each has more to say with --help.

  WEBHOOK_SECRET   the endpoint's signing secret, as --secret, but not visible in the process list

A Herald on this machine can send to it, if its address guard is open to the loopback, as \`pnpm start\` leaves it. Any
other Herald wants HTTPS at a public address: put a tunnel or a proxy that speaks TLS in front.`;

const commands: Record<string, (args: string[]) => Promise<number>> = { send: runSend, check: runCheck };

async function main([first = "", ...rest]: string[]): Promise<void> {
  const command = commands[first];
  if (command) process.exitCode = await command(rest);
  else await listen([first, ...rest].filter((argument) => argument !== ""));
}

// Whoever reads the output may stop early, as `head` does.
process.stdout.on("error", () => process.exit());

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`herald-listen: ${error.message}`);
  process.exitCode = 2;
});

async function listen(args: string[]): Promise<void> {
  const options = readArguments(args);
  if (!options) {
    console.log(usage);
    return;
  }
  const listener = await startListener(options);
  console.log(`listening on ${listener.url}`);
  if (options.forward) console.log(`forwarding to ${options.forward.url.href}`);
  if (options.secrets.length === 0) console.log("no secret given, so nothing will verify: set WEBHOOK_SECRET");
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void listener.close());
  }
}

function readArguments(args: string[]): ListenerOptions | null {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: "8080" },
      host: { type: "string", default: "127.0.0.1" },
      secret: { type: "string", multiple: true, default: [] },
      status: { type: "string", default: "204" },
      forward: { type: "string" },
      "forward-all": { type: "boolean", default: false },
      timeout: { type: "string", default: DEFAULT_TIMEOUT_SECONDS },
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
  if (values["forward-all"] && values.forward === undefined) throw new Error("--forward-all goes with --forward URL");
  const timeoutMs = milliseconds("--timeout", values.timeout);
  return {
    host: values.host,
    port: integer("--port", values.port, 0, 65_535),
    secrets: secretsOf(values.secret),
    status: integer("--status", values.status, 200, 599),
    toleranceSeconds: integer("--tolerance", values.tolerance, 0, Number.MAX_SAFE_INTEGER),
    headerPrefix: values["header-prefix"],
    ...(values.forward !== undefined && {
      forward: { url: httpUrl("--forward", values.forward), all: values["forward-all"], timeoutMs },
    }),
    ...(certFile && keyFile
      ? { tls: { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") } }
      : {}),
    print: (text) => console.log(text),
    colour: process.stdout.isTTY && !process.env.NO_COLOR,
  };
}
