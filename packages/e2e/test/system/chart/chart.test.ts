import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { loadSchemas, type Schemas } from "./schemas.ts";
import { KUBERNETES_VERSION, prepareTools } from "./tools.ts";

const HELM_FOLDER = join(projectFolder(), "deploy", "helm");
const CHART = join(HELM_FOLDER, "herald");
/** Go, Helm and the schemas are fetched and built once, and not by a test. */
const PREPARE_TIMEOUT_MS = 1_800_000;

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind.
  spec: any;
}

let helm = "";
let schemas: Schemas;

beforeAll(async () => {
  const tools = await prepareTools();
  helm = tools.helm;
  schemas = loadSchemas(tools.folders);
}, PREPARE_TIMEOUT_MS);

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(helm, args, { encoding: "utf8" });
}

function template(values: string[], ...more: string[]) {
  const files = values.flatMap((name) => ["--values", join(CHART, "ci", name)]);
  return run("template", "herald", CHART, "--kube-version", KUBERNETES_VERSION, ...files, ...more);
}

function render(...values: string[]): KubernetesObject[] {
  const { status, stdout, stderr } = template(values);
  if (status !== 0) throw new Error(stderr);
  return parsed(stdout);
}

function parsed(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);
}

const of = (objects: KubernetesObject[], kind: string, component: string) => {
  const found = objects.find(({ kind: its, metadata }) => its === kind && metadata.name === `herald-${component}`);
  if (!found) throw new Error(`There is no ${kind} of ${component}.`);
  return found;
};

test("helm lint finds nothing wrong with the chart", () => {
  for (const name of ["minimal.yaml", "everything.yaml"]) {
    const { status, stdout } = run("lint", CHART, "--strict", "--values", join(CHART, "ci", name));
    expect([status, stdout]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
  }
});

test.each(["minimal.yaml", "everything.yaml"])(
  "rendered with %s, each object of the chart is as Kubernetes' and the operators' schemas say",
  (name) => {
    const objects = render(name);
    expect(objects.length).toBeGreaterThan(10);
    expect(objects.flatMap((object) => schemas.problemsOf(object))).toEqual([]);
  },
);

test.each(["postgres.yaml", "rabbitmq.yaml"])("the chart's example %s is as its operator's schema says", (name) => {
  const objects = parsed(readFileSync(join(HELM_FOLDER, "examples", name), "utf8"));
  expect(objects.flatMap((object) => schemas.problemsOf(object))).toEqual([]);
});

test("a field that Kubernetes does not know is found in a rendered object", () => {
  const [object] = render("minimal.yaml").filter(({ kind }) => kind === "Deployment");
  (object as KubernetesObject).spec.template.spec.containers[0].readOnlyRootFilesystem = true;
  expect(schemas.problemsOf(object as KubernetesObject)).toEqual([expect.stringContaining("readOnlyRootFilesystem")]);
});

describe("what is rendered", () => {
  const COMPONENTS = ["management-api", "publisher", "dispatcher"];

  test("the chart's pods run without rights, as no root, on a file system that is read-only", () => {
    const objects = render("everything.yaml");
    const pods = objects
      .filter(({ kind }) => kind === "Deployment" || kind === "Job")
      .map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(4);
    for (const pod of pods) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      for (const { securityContext } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });

  test("the chart migrates before it installs and upgrades, as the tables' owner", () => {
    const { metadata, spec } = of(render("minimal.yaml"), "Job", "migrate") as KubernetesObject & {
      metadata: { annotations: Record<string, string> };
    };
    expect(metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    const [container] = spec.template.spec.containers;
    expect(container.env).toEqual([
      { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "herald-postgres-owner", key: "uri" } } },
    ]);
  });

  test("of the chart's pods only dispatchers reach the internet, and no private address", () => {
    const objects = render("everything.yaml");
    for (const component of [...COMPONENTS, "migrate"]) {
      const { spec } = of(objects, "NetworkPolicy", component);
      // biome-ignore lint/suspicious/noExplicitAny: of a rendered object.
      const blocks = spec.egress.flatMap(({ to }: any) => to).flatMap(({ ipBlock }: any) => ipBlock ?? []);
      const world = blocks.find(({ cidr }: { cidr: string }) => cidr === "0.0.0.0/0");
      if (component !== "dispatcher") expect(world).toBeUndefined();
      else {
        const closed = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "203.0.113.0/24"];
        expect(world.except).toEqual(expect.arrayContaining(closed));
      }
    }
  });

  test("in the chart's values a service's own settings win, also where they say no", () => {
    const env = of(render("everything.yaml"), "Deployment", "management-api").spec.template.spec.containers[0].env;
    const value = (name: string) => env.find((each: { name: string }) => each.name === name)?.value;
    expect([value("LOG_LEVEL"), value("STANDARD_WEBHOOKS"), value("MAX_PAYLOAD_BYTES")]).toEqual([
      "info",
      "false",
      "1048576",
    ]);
  });

  test("KEDA scales dispatchers by what waits for Herald, and publishers by what waits in the inbox", () => {
    const objects = render("everything.yaml");
    const scaled = (component: string) => {
      expect(of(objects, "Deployment", component).spec.replicas).toBeUndefined();
      const { triggers } = of(objects, "ScaledObject", component).spec;
      return triggers.map(({ metadata }: { metadata: object }) => metadata);
    };
    const serverAddress = "http://prometheus.monitoring:9090";
    expect(scaled("dispatcher")).toMatchObject([
      { query: 'max(herald_deliveries_unfinished{state="due"})', threshold: "1000", serverAddress },
      {
        query: 'min_over_time(max(herald_oldest_due_delivery_age_seconds{waits_for="herald"})[1m:15s])',
        threshold: "30",
        serverAddress,
      },
    ]);
    const isThere = 'min(herald_dependency_up{service="publisher",dependency="database"})';
    expect(scaled("publisher")).toMatchObject([
      { query: `max(herald_queue_messages{queue="inbox"}) * ${isThere}`, threshold: "2000", serverAddress },
    ]);
  });

  test("the chart's alerts are the deployed ones, with whole links", () => {
    const [rule] = render("everything.yaml").filter(({ kind }) => kind === "PrometheusRule");
    const deployed = readFileSync(join(projectFolder(), "deploy", "prometheus", "rules.yml"), "utf8");
    const linked = deployed.replaceAll("runbook_url: ", "runbook_url: https://docs.example.com/herald/");
    expect(rule?.spec).toEqual(parseAllDocuments(linked)[0]?.toJS());
  });
});

describe("values that are refused", () => {
  test("without any values the chart names everything that is missing, at once", () => {
    const { status, stderr } = template([]);
    expect(status).not.toBe(0);
    for (const name of ["database", "databaseOwner", "broker", "secretKeys"]) {
      expect(stderr).toContain(`secrets.${name}.name: name an existing Secret that holds`);
    }
    expect(stderr).toContain("managementApi.settings: set AUTH_JWKS_URL");
    expect(stderr).toContain("networkPolicy.database.peers: say where it is");
  });

  test.each([
    ["settings.DATABASE_URL=postgres://u:p@h/d", "settings.DATABASE_URL: a secret doesn't belong into values"],
    [
      "dispatcher.autoscaling.enabled=true,dispatcher.autoscaling.minReplicas=30",
      "minReplicas: is more than maxReplicas",
    ],
    [
      "dispatcher.autoscaling.enabled=true",
      "dispatcher.autoscaling.prometheusUrl: say which Prometheus knows how much waits",
    ],
    ["publisher.autoscaling.enabled=true", "publisher.autoscaling.prometheusUrl: say which Prometheus"],
    ["dispatcher.replica=3", "replica"],
    ["secrets.database.name=Not A Name", "secrets/database/name|secrets.database.name"],
    ["image.digest=latest", "image.digest|image/digest"],
    ["settings.logLevel=debug", "logLevel"],
  ])("the chart refuses --set %s", (set, message) => {
    const { status, stderr } = template(["minimal.yaml"], "--set", set);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(new RegExp(message.replace(/[()]/g, "\\$&")));
  });
});
