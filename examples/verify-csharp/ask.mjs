// For test.sh. The class stands in ASP.NET Core; the servers that Mono has lose a header that is there twice. So this server takes the
// requests, and asks the class about each: it leaves only the verdict to it.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";

const LIMIT_BYTES = 1024 * 1024;

const verifier = spawn("mono", ["verify.exe"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = [];
createInterface({ input: verifier.stdout }).on("line", (line) => waiting.shift()?.(line === "True"));
verifier.on("close", (code) => process.exit(code ?? 1));

function ask(rawHeaders, body) {
  const lines = Array.from({ length: rawHeaders.length / 2 }, (_, at) =>
    rawHeaders.slice(2 * at, 2 * at + 2).join(":"),
  );
  return new Promise((resolve) => {
    waiting.push(resolve);
    verifier.stdin.write(`${Buffer.from(lines.join("\n"), "latin1").toString("base64")} ${body.toString("base64")}\n`);
  });
}

createServer(async (request, response) => {
  try {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const body = await buffer(request);
    if (body.byteLength > LIMIT_BYTES) return void response.writeHead(413).end();
    response.writeHead((await ask(request.rawHeaders, body)) ? 204 : 401).end();
  } catch {
    response.destroy();
  }
}).listen(process.env.PORT, "127.0.0.1");
