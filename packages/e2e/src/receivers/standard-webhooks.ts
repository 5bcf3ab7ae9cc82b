import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { signedRequest } from "@herald/listen";
import { goVersion, javaVersion, type Programs, rustVersion } from "./languages.ts";
import { output, withoutPnpm } from "./output.ts";
import { EXAMPLE_SECRET, type Tried } from "./tried.ts";
import { withCopy } from "./with-copy.ts";

/** A program that verifies one request with a library of Standard Webhooks: examples/standard-webhooks. */
export interface StandardWebhooks {
  name: string;
  folder: string;
  /** Fetches the library and compiles; absent where the library can't be fetched here, so that it is not tried. */
  build?: (copy: string, programs: Programs) => Promise<Verifier>;
}

interface Verifier {
  command: [program: string, ...args: string[]];
  env?: Record<string, string>;
  /** What ran it, and the library. */
  version: string;
}

/** The versions that are tried. Those for Go and Rust are in the examples too. */
const VERSIONS = { node: "1.1.1", python: "1.0.1", go: "0.0.1", java: "1.1.0", rust: "1.0.1" };

export const STANDARD_WEBHOOKS: readonly StandardWebhooks[] = [
  {
    name: "Node.js",
    folder: "node",
    build: async (copy) => {
      await output(
        "npm",
        ["install", "--no-audit", "--no-fund", `standardwebhooks@${VERSIONS.node}`],
        copy,
        withoutPnpm(),
      );
      const version = `Node.js ${process.versions.node}, standardwebhooks ${VERSIONS.node}`;
      return { command: [process.execPath, "verify.mjs"], version };
    },
  },
  {
    name: "Python",
    folder: "python",
    build: async (copy, programs) => {
      const python = await programs.language("python3");
      const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
      await output(python, [...install, "--target", "library", `standardwebhooks==${VERSIONS.python}`], copy);
      const version = `${await output(python, ["--version"], copy)}, standardwebhooks ${VERSIONS.python}`;
      return { command: [python, "-B", "verify.py"], env: { PYTHONPATH: join(copy, "library") }, version };
    },
  },
  {
    name: "Go",
    folder: "go",
    build: async (copy, programs) => {
      const go = await programs.go();
      await output(go, ["mod", "tidy"], copy);
      await output(go, ["build", "-o", "verify", "."], copy);
      const version = `${await goVersion(go, copy)}, standard-webhooks ${VERSIONS.go}`;
      return { command: [join(copy, "verify")], version };
    },
  },
  { name: "C#", folder: "csharp" },
  {
    name: "Java",
    folder: "java",
    build: async (copy, programs) => {
      const [compiler, maven] = [await programs.language("javac"), await programs.language("mvn")];
      const artifact = `com.standardwebhooks:standardwebhooks:${VERSIONS.java}`;
      await output(maven, ["-q", "dependency:copy", `-Dartifact=${artifact}`, "-DoutputDirectory=."], copy);
      const library = `standardwebhooks-${VERSIONS.java}.jar`;
      await output(compiler, ["-cp", library, "Verify.java"], copy);
      const version = `${await javaVersion(compiler, copy)}, standardwebhooks ${VERSIONS.java}`;
      return { command: ["java", "-cp", `${library}:.`, "Verify"], version };
    },
  },
  { name: "PHP", folder: "php" },
  { name: "Ruby", folder: "ruby" },
  {
    name: "Rust",
    folder: "rust",
    build: async (copy, programs) => {
      const cargo = await programs.language("cargo");
      await output(cargo, ["build", "--quiet"], copy);
      const version = `${await rustVersion(cargo, copy)}, standardwebhooks ${VERSIONS.rust}`;
      return { command: [join(copy, "target", "debug", "verify")], version };
    },
  },
];

/** Tries a program with good requests and bad ones. @throws where it takes a bad one, or refuses a good one */
export async function tryStandardWebhooks(
  { name, folder, build }: StandardWebhooks,
  programs: Programs,
): Promise<Tried> {
  return withCopy(join("standard-webhooks", folder), async (copy) => {
    if (!build) throw new Error(`The library for ${name} can't be fetched here.`);
    const verifier = await build(copy, programs);
    for (const { what, verifies, ...request } of cases(new Date())) {
      const verified = await verify(verifier, copy, request);
      if (verified !== verifies) throw new Error(`The library for ${name} ${verifies ? "refuses" : "takes"} ${what}.`);
    }
    return { name, version: verifier.version };
  });
}

interface Request {
  /** What the library is given. */
  secret: string;
  id: string;
  timestamp: string;
  signature: string;
  body: Uint8Array;
}

function cases(now: Date): (Request & { what: string; verifies: boolean })[] {
  const body = Buffer.from('{"id":"0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e", "type":"RiskCreated", "name":"Größe"}');
  const deliveryId = "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6f";
  const signed = (secret: string, at: Date): Request => {
    const { headers } = signedRequest({ body, eventType: "RiskCreated", deliveryId, secret, now: at });
    const headerOf = (header: string) => headers[headers.indexOf(header) + 1] ?? "";
    const [timestamp, signature] = [headerOf("webhook-timestamp"), headerOf("webhook-signature")];
    return { secret: EXAMPLE_SECRET, id: deliveryId, timestamp, signature, body };
  };
  const good = signed(EXAMPLE_SECRET, now);
  const other = Buffer.from("another secret of the same length").toString("base64");
  return [
    { what: "a good request", verifies: true, ...good },
    { what: "the secret with whsec_ in front", verifies: true, ...good, secret: `whsec_${EXAMPLE_SECRET}` },
    { what: "a changed body", verifies: false, ...good, body: Buffer.from(`${body.toString()} `) },
    { what: "the signature of another secret", verifies: false, ...signed(other, now) },
    { what: "an old request", verifies: false, ...signed(EXAMPLE_SECRET, new Date(now.getTime() - 360_000)) },
    { what: "a forged signature", verifies: false, ...good, signature: `v1,${Buffer.alloc(32).toString("base64")}` },
    { what: "an empty signature", verifies: false, ...good, signature: "v1," },
  ];
}

async function verify({ command: [program, ...args], env }: Verifier, cwd: string, request: Request): Promise<boolean> {
  const { secret, id, timestamp, signature, body } = request;
  const child = spawn(program, [...args, id, timestamp, signature], {
    cwd,
    env: { ...process.env, ...env, WEBHOOK_SECRET: secret },
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(body);
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0;
}
