import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { askForGo } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";

/** The versions that the chart is tried with. */
const HELM = "helm.sh/helm/v3/cmd/helm@v3.18.6";
export const KUBERNETES_VERSION = "1.33.4";

/** Go modules that hold schemas, and where in them. */
export const SCHEMAS = {
  kubernetes: [`k8s.io/kubernetes@v${KUBERNETES_VERSION}`, "api/openapi-spec/swagger.json"],
  keda: ["github.com/kedacore/keda/v2@v2.17.2", "config/crd/bases"],
  prometheus: ["github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd"],
  gateway: ["sigs.k8s.io/gateway-api@v1.3.0", "config/crd/standard"],
  postgres: ["github.com/cloudnative-pg/cloudnative-pg@v1.27.0", "config/crd/bases"],
  rabbitmq: ["github.com/rabbitmq/cluster-operator/v2@v2.16.0", "config/crd/bases"],
  topology: ["github.com/rabbitmq/messaging-topology-operator@v1.17.4", "config/crd/bases"],
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
  const { executable } = await askForGo();
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
