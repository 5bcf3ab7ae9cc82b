import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { askForProgram } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { Ajv, type ValidateFunction } from "ajv";
import { parseAllDocuments } from "yaml";

/** The versions that the chart is tried with. */
const HELM = "helm.sh/helm/v3/cmd/helm@v3.18.6";
export const KUBERNETES_VERSION = "1.33.4";

/** Go modules that hold schemas, with the paths of the schemas. */
export const SCHEMAS = {
  kubernetes: [`k8s.io/kubernetes@v${KUBERNETES_VERSION}`, "api/openapi-spec/swagger.json"],
  keda: ["github.com/kedacore/keda/v2@v2.17.2", "config/crd/bases"],
  prometheus: ["github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd"],
  gateway: ["sigs.k8s.io/gateway-api@v1.3.0", "config/crd/standard"],
  postgres: ["github.com/cloudnative-pg/cloudnative-pg@v1.27.0", "config/crd/bases"],
  rabbitmq: ["github.com/rabbitmq/cluster-operator/v2@v2.16.0", "config/crd/bases"],
} as const;

/** Where Helm, built by Go, and the modules with schemas are on this machine. */
export interface ChartTools {
  helm: string;
  /** By the names of {@link SCHEMAS}. */
  folders: Record<keyof typeof SCHEMAS, string>;
}

/**
 * Has Go fetch and build what the chart is tried with. The first time takes minutes; Go keeps the modules, and `.local` keeps
 * Helm.
 */
export async function prepareTools(): Promise<ChartTools> {
  const { executable } = await askForProgram("go");
  const local = join(projectFolder(), ".local");
  const helmFolder = join(local, "helm", HELM.replaceAll("/", "_"));
  mkdirSync(helmFolder, { recursive: true });

  async function go(args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = { cwd: local, env: { ...process.env, GOFLAGS: "-mod=mod", ...env }, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(executable, args, options)).stdout;
  }
  async function folderOf(module: string, path: string): Promise<string> {
    const { Dir } = JSON.parse(await go(["mod", "download", "-json", module])) as { Dir: string };
    return join(Dir, path);
  }

  const helm = join(helmFolder, "helm");
  if (!existsSync(helm)) await go(["install", HELM], { GOBIN: helmFolder });
  const folders = await Promise.all(
    Object.entries(SCHEMAS).map(async ([name, [module, path]]) => [name, await folderOf(module, path)] as const),
  );
  return { helm, folders: Object.fromEntries(folders) as ChartTools["folders"] };
}

type Schema = Record<string, unknown>;
interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** Finds the schema of an object by its apiVersion and kind, and what is wrong with the object. */
export interface Schemas {
  /** Empty if nothing is wrong. @throws if no schema is known */
  problemsOf(object: { apiVersion: string; kind: string }): string[];
}

/** Kubernetes' own schemas and those of the operators, made strict: a field that they don't know is a mistake. */
export function loadSchemas({ kubernetes, ...operators }: ChartTools["folders"]): Schemas {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, unicodeRegExp: false });
  const validators = new Map<string, () => ValidateFunction>();

  const swagger = JSON.parse(readFileSync(kubernetes, "utf8")) as {
    definitions: Record<string, Schema>;
  };
  // Written as text there, though both are taken.
  const numbersToo = { type: ["string", "integer", "number"] };
  swagger.definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = numbersToo;
  swagger.definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = numbersToo;
  for (const definition of Object.values(swagger.definitions)) makeStrict(definition);
  ajv.addSchema({ $id: "kubernetes", ...swagger } as Schema);
  for (const [name, definition] of Object.entries(swagger.definitions)) {
    const kinds = definition["x-kubernetes-group-version-kind"] as { group: string; version: string; kind: string }[];
    if (kinds?.length !== 1) continue;
    for (const { group, version, kind } of kinds) {
      const apiVersion = group === "" ? version : `${group}/${version}`;
      const ref = { $ref: `kubernetes#/definitions/${name}` };
      validators.set(`${apiVersion} ${kind}`, () => ajv.compile(ref));
    }
  }

  for (const folder of Object.values(operators)) {
    for (const file of readdirSync(folder).filter((each) => each.endsWith(".yaml"))) {
      for (const document of parseAllDocuments(readFileSync(join(folder, file), "utf8"))) {
        const { spec } = document.toJS() as Definition;
        for (const { name: version, schema } of spec.versions) {
          const strict = makeStrict(schema.openAPIV3Schema);
          // A definition says nothing about metadata: it is the same for all.
          (strict.properties as Schema).metadata = { type: "object" };
          validators.set(`${spec.group}/${version} ${spec.names.kind}`, () => ajv.compile(strict));
        }
      }
    }
  }

  return {
    problemsOf(object) {
      const validate = validators.get(`${object.apiVersion} ${object.kind}`)?.();
      if (!validate) throw new Error(`There is no schema of ${object.apiVersion} ${object.kind}.`);
      validate(object);
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${object.kind}${instancePath} ${message} ${JSON.stringify(params)}`,
      );
    },
  };
}

function makeStrict(schema: Schema): Schema {
  if (schema["x-kubernetes-int-or-string"]) schema.type = ["string", "integer", "number"];
  // Go's regular expressions have flags inside, JavaScript's have not.
  if (String(schema.pattern).includes("(?i)")) delete schema.pattern;
  const open = "additionalProperties" in schema || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if ("properties" in schema && !open) schema.additionalProperties = false;
  for (const inner of Object.values((schema.properties ?? {}) as Record<string, Schema>)) makeStrict(inner);
  for (const key of ["items", "additionalProperties"]) {
    const inner = schema[key];
    if (typeof inner === "object" && inner !== null) makeStrict(inner as Schema);
  }
  return schema;
}
