import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { projectFolder } from "@herald/dev/stack/folders";
import { dispatcherSettings } from "@herald/dispatcher";
import { managementApiSettings } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { projectFile } from "./project-files.ts";

interface Service {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  volumes?: string[];
  networks?: string[];
  ports?: string[];
  cap_drop?: string[];
  read_only?: boolean;
  depends_on?: Record<string, object>;
}
interface ComposeFile {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes: object;
  networks: Record<string, object>;
}

// That the file keeps the Compose specification is for `docker compose config --quiet`, in CI. Here is what is Herald's own.
const file = parse(projectFile("docker-compose.yml"), { merge: true }) as ComposeFile;
const { services, secrets, volumes, networks } = file;
const servicesIn = (network: string) =>
  Object.entries(services).flatMap(([name, { networks: names }]) => (names?.includes(network) ? [name] : []));
const own = Object.entries(services).filter(([, { image }]) => image === "herald");

test("the secrets, networks, volumes and files that the Compose file's services refer to exist", () => {
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

test("each Compose service of Herald runs a command of the image, without rights", () => {
  expect(own.map(([name]) => name).sort()).toEqual(["dispatcher", "herald", "management-api", "migrate", "publisher"]);
  const commands = own.map(([, { command }]) => command?.join(" "));
  expect(commands).toEqual(["migrate", "serve management-api", "serve publisher", "serve dispatcher", "help"]);
  for (const [, { cap_drop, read_only }] of own) {
    expect({ cap_drop, read_only }).toEqual({ cap_drop: ["ALL"], read_only: true });
  }
});

test("what operators run in Compose waits for no server, which may be down", () => {
  expect(services.herald?.depends_on).toEqual({});
  expect(Object.keys(services.dispatcher?.depends_on ?? {})).toEqual(["migrate", "rabbitmq"]);
});

test("of the Compose services only dispatchers, and what operators run, are in the network that leads outside, and those that publish a port in the one for that", () => {
  expect(servicesIn("outside")).toEqual(["dispatcher", "herald"]);
  expect(networks.inside).toEqual({ internal: true });
  expect(servicesIn("inside")).toEqual(Object.keys(services));
  const publishing = Object.entries(services).filter(([, { ports }]) => ports);
  expect(servicesIn("edge")).toEqual(publishing.map(([name]) => name));
  expect(networks.edge).toEqual({ driver_opts: { "com.docker.network.bridge.enable_ip_masquerade": "false" } });
  for (const [, { ports = [] }] of publishing) {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test("of the Compose services only dispatchers, and what operators run, have the keys that open signing secrets", () => {
  const having = Object.entries(services).flatMap(([name, { secrets: mounted = [] }]) =>
    mounted.includes("secret-keys") ? [name] : [],
  );
  expect(having).toEqual(["dispatcher", "herald"]);
  expect(services["management-api"]?.environment).not.toHaveProperty("SECRET_KEYS_FILE");
});

test("what the Compose file and its secrets say fits, and is safe enough for production, but not without saying that there is no TLS", () => {
  const folder = mkdtempSync(join(tmpdir(), "herald-compose-"));
  try {
    execFileSync(process.execPath, [join(projectFolder(), "deploy/docker/make-secrets.mjs"), folder]);
    const declared: Record<string, Settings> = {
      "management-api": managementApiSettings,
      publisher: publisherSettings,
      dispatcher: dispatcherSettings,
    };
    for (const [name, settings] of Object.entries(declared)) {
      const values = Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
        key,
        value.replace("/run/secrets", folder).replace(/^\$\{\w+:-\}$/, ""),
      ]);
      const environment = Object.fromEntries(values) as Record<string, string>;
      expect(() => readConfig(settings, environment)).not.toThrow();
      expect(() => readConfig(settings, { ...environment, ALLOW_PLAINTEXT: "" })).toThrow("ALLOW_PLAINTEXT");
    }
    const keyIn = (name: string) => readFileSync(join(folder, name), "utf8");
    const sealed = secretSealer(keyIn("sealing-key")).seal("secret", "endpoint");
    expect(secretBox(keyIn("secret-keys")).open(sealed, "endpoint")).toBe("secret");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the runbook's commands name services of the Compose file", () => {
  const commands = projectFile("docs/operating/runbook.md").matchAll(/docker compose (?:up|ps|logs|exec|run) (.*)/g);
  const named = [...commands].flatMap(
    ([, words = ""]) => words.split(" ").find((word) => /^[a-z][a-z-]*$/.test(word)) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  expect(Object.keys(services)).toEqual(expect.arrayContaining([...new Set(named)]));
});

/** No digest of these could be looked up in the list that Docker's own images have; their version is exact. */
const BY_VERSION = ["prom/prometheus", "grafana/grafana", "ghcr.io/cloudnative-pg/postgresql"];

test("every image of others is named by its digest, beside a tag for the reader, or else by its exact version", () => {
  const files = [
    "deploy/docker/Dockerfile",
    "docker-compose.yml",
    "deploy/helm/examples/postgres.yaml",
    "deploy/helm/examples/rabbitmq.yaml",
  ];
  const text = files.map(projectFile).join("\n");
  const images = [...text.matchAll(/^(?:FROM | *image(?:Name)?: )(\S+)/gm)].map(([, image = ""]) => image);
  const ofOthers = images.filter((image) => image !== "herald");
  expect(ofOthers.length).toBeGreaterThan(7);
  for (const image of ofOthers) {
    const [name = ""] = image.split(/[:@]/);
    expect(image).toMatch(
      BY_VERSION.includes(name) ? /:v?\d+(\.\d+)+(-system-\w+)?$/ : /^[\w/.-]+:\d[\w.-]*@sha256:[0-9a-f]{64}$/,
    );
  }
});
