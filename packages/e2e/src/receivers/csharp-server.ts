import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";

// The class in C# stands in ASP.NET Core, which can't be had here, and the servers that Mono has lose a header that is there
// twice. So another server takes the requests, and asks the class about each.

/** Asks the class about each line of its input: headers and body in Base64. */
const ASK = `using System;
using System.Linq;
using System.Text;

static class Ask
{
    static void Main()
    {
        string secret = Environment.GetEnvironmentVariable("WEBHOOK_SECRET");
        for (string line; (line = Console.ReadLine()) != null;)
        {
            string[] parts = line.Split(' ');
            string[] headers = Encoding.GetEncoding("iso-8859-1").GetString(Convert.FromBase64String(parts[0])).Split('\\n');
            Func<string, string[]> valuesOf = name => headers
                .Where(header => header.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
                .Select(header => header.Substring(name.Length + 1)).ToArray();
            Console.WriteLine(Webhook.Verify(valuesOf, Convert.FromBase64String(parts[1]), secret));
            Console.Out.Flush();
        }
    }
}
`;

export function writeAskingProgram(folder: string): void {
  writeFileSync(join(folder, "Ask.cs"), ASK);
}

const LIMIT_BYTES = 1024 * 1024;

/** Starts the server that asks; it leaves only the verdict to the program. */
export async function startVerifyingServer(program: ChildProcess, port: number): Promise<{ close(): Promise<void> }> {
  const waiting: ((verdict: boolean) => void)[] = [];
  if (!program.stdout || !program.stdin) throw new Error("The program needs a pipe to be asked by.");
  const { stdin } = program;
  createInterface({ input: program.stdout }).on("line", (line) => waiting.shift()?.(line === "True"));
  const ask = (headers: string, body: Buffer) =>
    new Promise<boolean>((resolve) => {
      waiting.push(resolve);
      stdin.write(`${Buffer.from(headers, "latin1").toString("base64")} ${body.toString("base64")}\n`);
    });
  const server = createServer(async (request, response) => {
    try {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const body = await readBody(request);
      if (body.byteLength > LIMIT_BYTES) return void response.writeHead(413).end();
      response.writeHead((await ask(headerLines(request), body)) ? 204 : 401).end();
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function headerLines({ rawHeaders }: IncomingMessage): string {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, index) => `${rawHeaders[2 * index]}:${rawHeaders[2 * index + 1]}`,
  ).join("\n");
}
