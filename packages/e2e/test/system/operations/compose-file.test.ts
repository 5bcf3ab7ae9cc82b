import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { projectFile } from "./queries.ts";

interface Service {
  image: string;
  command?: string[];
  entrypoint?: string[];
  secrets?: string[];
  volumes?: string[];
  networks?: string[];
  cap_drop?: string[];
  read_only?: boolean;
}
interface ComposeFile {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes: object;
  networks: object;
}

const read = () => parse(projectFile("docker-compose.yml"), { merge: true }) as ComposeFile;
const { services, secrets, volumes, networks } = read();
const own = Object.entries(services).filter(([, { image }]) => image === "herald");

/**
 * The Compose specification's schema as compose-go 2.16.2 has it, schema/compose-spec.json there, unchanged; under the Apache
 * License 2.0. What npm has of it is too old to know the file's `name`.
 */
const schema = JSON.parse(projectFile("packages/e2e/test/operations/compose-spec.schema.json")) as object;
const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(schema);

test("docker-compose.yml is as the Compose specification says", () => {
  validate(read());
  expect(validate.errors ?? []).toEqual([]);
});

test("a mistake in it is found", () => {
  const wrong = read();
  Object.assign(wrong.services.dispatcher as Service, { readonly: true });
  expect(validate(wrong)).toBe(false);
});

test("what services refer to is there", () => {
  for (const service of Object.values(services)) {
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining(service.secrets ?? []));
    expect(Object.keys(networks)).toEqual(expect.arrayContaining(service.networks ?? []));
    for (const volume of service.volumes ?? []) {
      const [source = ""] = volume.split(":");
      if (source.startsWith("./")) expect([source, existsSync(join(projectFolder(), source))]).toEqual([source, true]);
      else expect(Object.keys(volumes)).toContain(source);
    }
  }
});

test("each process of Herald runs a program that the build makes, without rights", () => {
  expect(own.map(([name]) => name).sort()).toEqual(["dispatcher", "herald", "management-api", "migrate", "publisher"]);
  for (const [, { command = [], entrypoint = [], cap_drop, read_only }] of own) {
    const program = [...entrypoint, ...command].find((word) => word.endsWith(".js")) ?? "";
    expect([program, existsSync(join(projectFolder(), program))]).toEqual([program, true]);
    expect({ cap_drop, read_only }).toEqual({ cap_drop: ["ALL"], read_only: true });
  }
});

test("only dispatchers are in the network that leads outside", () => {
  const outside = Object.entries(services).filter(([, { networks: names }]) => names?.includes("outside"));
  expect(outside.map(([name]) => name)).toEqual(["dispatcher"]);
});

test("the runbook speaks of services that are there", () => {
  const commands = projectFile("docs/operating/runbook.md").matchAll(/docker compose (?:up|ps|logs|exec|run) (.*)/g);
  const named = [...commands].flatMap(
    ([, words = ""]) => words.split(" ").find((word) => /^[a-z][a-z-]*$/.test(word)) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  expect(Object.keys(services)).toEqual(expect.arrayContaining([...new Set(named)]));
});

test("the image runs as a user by number, on images by version, without a shell", () => {
  const dockerfile = projectFile("deploy/docker/Dockerfile");
  const stages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = ""]) => image);
  expect(stages.every((image) => /:\d/.test(image))).toBe(true);
  const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  expect(last).toMatch(/^USER \d+:\d+$/m);
  expect(last).toMatch(/^ENTRYPOINT \["node"/m);
  expect(last).not.toMatch(/^(RUN|ADD) /m);
});

test("the image gets every part that a service needs", () => {
  const assembled = projectFile("deploy/docker/assemble.sh");
  for (const service of readdirSync(join(projectFolder(), "services")))
    expect(assembled).toContain(`services/${service}`);
});
