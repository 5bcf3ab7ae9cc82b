import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, output, withoutPnpm } from "../../../src/child.ts";

// What generators of TypeScript make of the OpenAPI document takes the body that README.md sends.

const folder = mkdtempSync(join(tmpdir(), "herald-readme-body-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (file: string) => readFileSync(join(projectFolder(), file), "utf8");

/** The JSON of README's first request, with the shell's variable in it. */
const [, body = ""] = /-d "(\{.*\})"/.exec(read("README.md")) ?? [];
const BODY = body.replaceAll('\\"', '"').replace("$RECEIVER", "https://hooks.example.com/");

interface Generator {
  packages: string[];
  /** Makes `types.ts` or a folder of it. */
  command: string[];
  importOf: string;
}

const generators: Record<string, Generator> = {
  "openapi-typescript": {
    packages: ["openapi-typescript@7.13.0"],
    command: ["openapi-typescript", "openapi.json", "--default-non-nullable=false", "--output", "types.ts"],
    importOf:
      'import type { components } from "./types.ts";\ntype Body = components["schemas"]["CreateWebhookRequest"];',
  },
  "@hey-api/openapi-ts": {
    packages: ["@hey-api/openapi-ts@0.99.0"],
    command: ["openapi-ts", "--input", "openapi.json", "--output", "types", "--plugins", "@hey-api/typescript"],
    importOf: 'import type { CreateWebhookRequest as Body } from "./types/types.gen.ts";',
  },
  orval: {
    packages: ["orval@8.38.0"],
    command: ["orval", "--input", "openapi.json", "--output", "types.ts", "--client", "fetch"],
    importOf: 'import type { CreateWebhookRequest as Body } from "./types.ts";',
  },
};

test.each(Object.entries(generators))(
  "README's own body compiles against the types that %s makes",
  async (name, { packages, command: [program = "", ...words], importOf }) => {
    const home = mkdtempSync(join(folder, name.replaceAll(/\W/g, "-")));
    writeFileSync(join(home, "package.json"), '{ "private": true, "type": "module" }');
    writeFileSync(join(home, "openapi.json"), read("docs/api/openapi.json"));
    writeFileSync(join(home, "body.ts"), `${importOf}\nexport const body: Body = ${BODY};\n`);
    const env = withoutPnpm();
    await output(
      "npm",
      ["install", "--no-audit", "--no-fund", "--prefer-offline", "typescript@5.9.3", ...packages],
      home,
      env,
    );
    await output(join("node_modules/.bin", program), words, home, env);
    const options = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--skipLibCheck", "--module", "nodenext"];
    await output("node_modules/.bin/tsc", [...options, "--allowImportingTsExtensions", "body.ts"], home, env);
    expect(BODY).toContain('"version":null');
  },
  3 * BUILD_TIMEOUT_MS,
);
