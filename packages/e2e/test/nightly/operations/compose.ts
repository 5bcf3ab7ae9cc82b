import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";

/** The verbs of `docker compose` in the runbook. */
export interface ComposeVerbs {
  ps(services: string[]): Promise<string>;
  logs(service: string): Promise<string>;
  /** Starts what does not run; as many as `scale` says. */
  up(services: string[], scale: Readonly<Record<string, number>>): Promise<string>;
  restart(services: string[]): Promise<string>;
  exec(service: string, command: string[]): Promise<string>;
  run(service: string, command: string[]): Promise<string>;
}

export interface Shell {
  /** Runs commands as an operator types them. @throws where one fails, with what was printed */
  run(commands: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * A shell whose `docker compose` is the test's: there is no Docker engine here, so what it is asked for happens to the
 * processes that the test runs.
 */
export async function openShell(folder: string, verbs: ComposeVerbs): Promise<Shell> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const args = JSON.parse(Buffer.concat(chunks).toString()) as string[];
    const result = await obey(args, verbs).then(
      (text) => ({ code: 0, text }),
      (error: Error) => ({ code: 1, text: `${error.message}\n` }),
    );
    response.setHeader("connection", "close").end(JSON.stringify(result));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "docker"), DOCKER(url));
  chmodSync(join(bin, "docker"), 0o755);
  return {
    run: (commands) =>
      new Promise((resolve, reject) => {
        const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) };
        execFile("bash", ["-c", `set -euo pipefail\n${commands}`], { env, timeout: 600_000 }, (error, out, err) => {
          if (error)
            reject(new Error(`These steps of the runbook failed:\n${commands}\n${out}${err}`, { cause: error }));
          else resolve(out);
        });
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const DOCKER = (url: string) =>
  `#!${process.execPath}
fetch("${url}", { method: "POST", body: JSON.stringify(process.argv.slice(2)) })
  .then((answer) => answer.json())
  .then(({ code, text }) => (code === 0 ? process.stdout : process.stderr).write(text, () => process.exit(code)));
`;

async function obey([compose, verb, ...rest]: string[], verbs: ComposeVerbs): Promise<string> {
  if (compose !== "compose") throw new Error(`The runbook asks for "docker ${compose}".`);
  const scale: Record<string, number> = {};
  while (rest[0]?.startsWith("-")) {
    const [option = "", inline] = (rest.shift() ?? "").split("=");
    if (option === "--tail") inline ?? rest.shift();
    else if (option === "--scale") {
      const [service = "", count] = (rest.shift() ?? "").split("=");
      scale[service] = Number(count);
    } else if (!["--all", "--detach", "--rm", "--no-TTY"].includes(option)) {
      throw new Error(`The runbook gives docker compose ${verb} the option ${option}, which this test does not know.`);
    }
  }
  const [service = "", ...command] = rest;
  if (verb === "ps") return await verbs.ps(rest);
  if (verb === "logs") return await verbs.logs(service);
  if (verb === "up") return await verbs.up(rest, scale);
  if (verb === "restart") return await verbs.restart(rest);
  if (verb === "exec") return await verbs.exec(service, command);
  if (verb === "run") return await verbs.run(service, command);
  throw new Error(`The runbook asks for "docker compose ${verb}".`);
}
