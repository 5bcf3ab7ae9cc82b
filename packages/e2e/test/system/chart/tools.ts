import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";

/** The versions that the chart is tried with. */
const HELM = "helm.sh/helm/v3/cmd/helm@v3.18.6";
export const KUBERNETES_VERSION = "1.33.4";

/** Go modules that hold schemas, and where in them. */
export const SCHEMAS = {
  kubernetes: [`k8s.io/kubernetes@v${KUBERNETES_VERSION}`, "api/openapi-spec/swagger.json"],
  keda: ["github.com/kedacore/keda/v2@v2.17.2", "config/crd/bases"],
  prometheus: ["github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd"],
  postgres: ["github.com/cloudnative-pg/cloudnative-pg@v1.27.0", "config/crd/bases"],
  rabbitmq: ["github.com/rabbitmq/cluster-operator/v2@v2.16.0", "config/crd/bases"],
} as const;

/** An installed helm, else one that Go builds into the local folder. */
export function findOrBuildHelm(): string {
  if (spawnSync("helm", ["version"]).status === 0) return "helm";
  const folder = join(projectFolder(), ".local", "helm", HELM.replaceAll("/", "_"));
  const helm = join(folder, "helm");
  if (!existsSync(helm)) {
    mkdirSync(folder, { recursive: true });
    go(["install", HELM], { GOBIN: folder });
  }
  return helm;
}

/** Where the module is on this machine; Go keeps it. */
export function moduleFolder(module: string): string {
  return (JSON.parse(go(["mod", "download", "-json", module])) as { Dir: string }).Dir;
}

function go(args: string[], env: NodeJS.ProcessEnv = {}): string {
  const options = { env: { ...process.env, GOFLAGS: "-mod=mod", ...env }, cwd: join(projectFolder(), ".local") };
  try {
    mkdirSync(options.cwd, { recursive: true });
    return execFileSync("go", args, { ...options, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Error(`The chart is tried with tools that Go fetches: install Go 1.24 or newer. ${String(error)}`);
  }
}
