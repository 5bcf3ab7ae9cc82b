import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { KUBERNETES_VERSION, loadSchemas, prepareTools, type Schemas } from "./schemas.ts";

const HELM_FOLDER = join(projectFolder(), "deploy", "helm");
const CHART = join(HELM_FOLDER, "herald");
/** Go, Helm and the schemas are fetched and built once, and not by a test. */
const PREPARE_TIMEOUT_MS = 1_800_000;

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
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

function template(values: string[], more: string[] = [], input = "") {
  const files = values.flatMap((name) => ["--values", join(CHART, "ci", name)]);
  const args = ["template", "herald", CHART, "--kube-version", KUBERNETES_VERSION, ...files, ...more];
  return spawnSync(helm, args, { encoding: "utf8", input });
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
    const args = ["lint", CHART, "--strict", "--values", join(CHART, "ci", name)];
    const { status, stdout } = spawnSync(helm, args, { encoding: "utf8" });
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

test("the README's values for servers of a cloud render, and each object is as Kubernetes' schemas say", () => {
  const page = readFileSync(join(CHART, "README.md"), "utf8");
  const [, values = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const { status, stdout, stderr } = template([], ["--values", "-"], values);
  expect([status, stderr]).toEqual([0, ""]);
  expect(parsed(stdout).flatMap((object) => schemas.problemsOf(object))).toEqual([]);
  expect(stdout).toContain("herald-postgres-ca");
});

test.each(["deploy/helm/examples/postgres.yaml", "deploy/helm/examples/rabbitmq.yaml"])(
  "%s is as its operator's schema says",
  (file) => {
    const objects = parsed(readFileSync(join(projectFolder(), file), "utf8"));
    expect(objects.flatMap((object) => schemas.problemsOf(object))).toEqual([]);
  },
);

test("a field that Kubernetes does not know is found in a rendered object", () => {
  const [object] = render("minimal.yaml").filter(({ kind }) => kind === "Deployment");
  (object as KubernetesObject).spec.template.spec.containers[0].readOnlyRootFilesystem = true;
  expect(schemas.problemsOf(object as KubernetesObject)).toEqual([expect.stringContaining("readOnlyRootFilesystem")]);
});

describe("what is rendered", () => {
  const COMPONENTS = ["management-api", "publisher", "dispatcher"];
  /** With all values that there are, and with as few as possible. */
  let objects: KubernetesObject[] = [];
  let minimal: KubernetesObject[] = [];
  beforeAll(() => {
    objects = render("everything.yaml");
    minimal = render("minimal.yaml");
  });

  test("the chart's pods run without rights, as no root, on a file system that is read-only", () => {
    const pods = objects
      .filter(({ kind }) => kind === "Deployment" || kind === "Job")
      .map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(6);
    for (const pod of pods) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      for (const { securityContext } of containersOf(pod)) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });

  const secretKey = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
  // biome-ignore lint/suspicious/noExplicitAny: of a rendered object.
  const podOf = (objects: KubernetesObject[], kind: string, component: string): any =>
    of(objects, kind, component).spec.template.spec;
  const deployed = (component: string) => podOf(objects, "Deployment", component);
  const job = () => podOf(objects, "Job", "migrate");
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  const containersOf = (pod: any): any[] => [...pod.containers, ...(pod.initContainers ?? [])];
  /** Those of the services, and those of the job: it migrates, and asks the doctor. */
  const allContainers = () => [...COMPONENTS.map(deployed), job()].flatMap(containersOf);
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  const envOf = (container: any) => new Map(container.env.map(({ name, ...value }: { name: string }) => [name, value]));

  test("the chart migrates before it installs and upgrades, as the tables' owner, and then asks the doctor", () => {
    expect(of(objects, "Job", "migrate").metadata.annotations?.["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    const { initContainers, containers } = job();
    const doctorOf = (service: string) => ({ args: ["doctor", "--service", service] });
    expect(initContainers).toMatchObject([{ args: ["migrate"] }, doctorOf("management-api"), doctorOf("publisher")]);
    expect(envOf(initContainers[0]).get("DATABASE_URL")).toEqual(secretKey("db", "owner-url"));
    expect(envOf(initContainers[0]).has("SECRET_KEYS")).toBe(false);
    expect(envOf(initContainers[0]).get("BROKER_NAMESPACE")).toEqual({ value: "tenant-a" });
    expect(containers).toMatchObject([doctorOf("dispatcher")]);
    expect(envOf(containers[0]).get("SECRET_KEYS")).toEqual(secretKey("keys", "ring"));
  });

  test("in the chart each service, and the doctor that looks at it, is the user that this service has in PostgreSQL and RabbitMQ", () => {
    const containers = allContainers().filter(({ name }) => name !== "migrate");
    expect(containers).toHaveLength(6);
    for (const container of containers) {
      const key = `${container.name.replace("doctor-", "").replace("management-", "")}-url`;
      const env = envOf(container);
      expect(env.get("DATABASE_URL")).toEqual(secretKey("db", key));
      expect(env.get("AMQP_URL")).toEqual(secretKey("mq", key));
      expect(env.get("BROKER_NAMESPACE")).toEqual({ value: "tenant-a" });
    }
  });

  test("in the chart only dispatchers and the doctor have the private keys for signing secrets, and the API has the public one", () => {
    const having = (name: string) => allContainers().flatMap((each) => (envOf(each).has(name) ? [each.name] : []));
    expect(having("SECRET_KEYS")).toEqual(["dispatcher", "doctor-dispatcher"]);
    expect(having("SECRET_SEALING_KEY")).toEqual(["management-api", "doctor-dispatcher", "doctor-management-api"]);
  });

  test("without the doctor the chart's job only migrates", () => {
    const { status, stdout } = template(["minimal.yaml"], ["--set", "doctor.enabled=false"]);
    expect(status).toBe(0);
    const { initContainers, containers } = podOf(parsed(stdout), "Job", "migrate");
    expect(initContainers).toBeUndefined();
    expect(containers).toMatchObject([{ name: "migrate" }]);
  });

  test("in the chart DATABASE_URL is made of a Secret's parts, with the password apart from it", () => {
    for (const [container, secret] of [
      [podOf(minimal, "Deployment", "publisher").containers[0], "herald-postgres-publisher"],
      [podOf(minimal, "Job", "migrate").initContainers[0], "herald-postgres-owner"],
    ]) {
      const env = envOf(container);
      expect(env.get("PGUSER")).toEqual(secretKey(secret, "username"));
      expect(env.get("PGPASSWORD")).toEqual(secretKey(secret, "password"));
      expect(env.get("PGHOST")).toEqual({ value: "herald-postgres-rw" });
      expect(env.get("PGPORT")).toEqual({ value: "5432" });
      expect(env.get("PGDATABASE")).toEqual({ value: "herald" });
      expect(env.get("DATABASE_URL")).toEqual({ value: "postgres://$(PGUSER)@$(PGHOST):$(PGPORT)/$(PGDATABASE)" });
      // Kubernetes fills in only what stands before.
      expect([...env.keys()].indexOf("DATABASE_URL")).toBeGreaterThan([...env.keys()].indexOf("PGUSER"));
    }
  });

  test("the chart mounts certificate authorities for those who connect to what they vouch for", () => {
    for (const pod of [...COMPONENTS.map(deployed), job()]) {
      for (const container of containersOf(pod)) {
        const env = envOf(container);
        expect(env.get("DATABASE_CA_FILE")).toEqual({ value: "/etc/herald/ca/database/ca.crt" });
        const isMigration = container.name === "migrate";
        expect(env.get("AMQP_CA_FILE")).toEqual(isMigration ? undefined : { value: "/etc/herald/ca/broker/root.pem" });
        const sends = ["dispatcher", "doctor-dispatcher"].includes(container.name);
        expect(env.get("EXTRA_CA_FILE")).toEqual(sends ? { value: "/etc/herald/ca/receivers/ca.pem" } : undefined);
        const names = (all: { name: string }[]) => all.map(({ name }) => name);
        expect(names(pod.volumes)).toEqual(expect.arrayContaining(names(container.volumeMounts)));
      }
    }
    expect(deployed("dispatcher").volumes).toContainEqual({
      name: "ca-broker",
      configMap: { name: "mq-ca", items: [{ key: "root.pem", path: "root.pem" }] },
    });
  });

  test("a component's own pod stands in the chart's place of what all pods have, name by name", () => {
    const placeOf = (component: string) => {
      const { metadata, spec } = of(objects, "Deployment", component).spec.template;
      const { serviceAccountName, nodeSelector, tolerations, priorityClassName } = spec;
      const cost = metadata.labels["example.com/cost"];
      const team = metadata.annotations["example.com/team"];
      return { serviceAccountName, nodeSelector, tolerations, priorityClassName, cost, team };
    };
    const ofAll = {
      serviceAccountName: "herald",
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      tolerations: [expect.objectContaining({ key: "dedicated" })],
      priorityClassName: "high",
      cost: "shared",
      team: "integrations",
    };
    for (const component of ["publisher", "management-api", "relay-billing"]) {
      expect([component, placeOf(component)]).toEqual([component, ofAll]);
    }
    expect(placeOf("dispatcher")).toEqual({
      ...ofAll,
      serviceAccountName: "sender",
      nodeSelector: { pool: "sending" },
      tolerations: undefined,
      cost: "sending",
    });
  });

  test("every pod of the chart has the volumes and the variables that the values add", () => {
    for (const pod of [...COMPONENTS.map(deployed), job()]) {
      expect(pod.volumes).toContainEqual({ name: "tools", emptyDir: {} });
      for (const container of containersOf(pod)) {
        expect(container.envFrom).toEqual([{ configMapRef: { name: "proxy" } }]);
        expect(container.volumeMounts).toContainEqual({ name: "tools", mountPath: "/tools" });
      }
    }
  });

  test("the chart's pods go where the values say, and are spread by the labels of their own service", () => {
    for (const [values, spread] of [
      [minimal, ["topology.kubernetes.io/zone ScheduleAnyway", "kubernetes.io/hostname ScheduleAnyway"]],
      [objects, ["topology.kubernetes.io/zone DoNotSchedule"]],
    ] as const) {
      for (const name of COMPONENTS) {
        const pod = podOf(values, "Deployment", name);
        // biome-ignore lint/suspicious/noExplicitAny: of a rendered object.
        const found = pod.topologySpreadConstraints.map(({ topologyKey, whenUnsatisfiable, labelSelector }: any) => {
          expect(labelSelector.matchLabels).toMatchObject({ "app.kubernetes.io/component": name });
          return `${topologyKey} ${whenUnsatisfiable}`;
        });
        expect(found).toEqual(spread);
      }
    }
    for (const pod of [deployed("publisher"), job()]) {
      expect(pod.affinity.podAntiAffinity).toBeDefined();
      expect(pod.tolerations).toHaveLength(1);
    }
  });

  test("the chart's ingress leads to the service of the API, with the host's certificate, and is there only if the values say so", () => {
    expect(minimal.filter(({ kind }) => kind === "Ingress")).toEqual([]);
    const { metadata, spec } = of(objects, "Ingress", "management-api");
    expect(metadata.annotations).toEqual({ "example.com/waf": "on" });
    expect(spec).toMatchObject({
      ingressClassName: "nginx",
      tls: [{ hosts: ["herald.example.com"], secretName: "herald-tls" }],
    });
    const [{ host, http }] = spec.rules;
    const [{ path, backend }] = http.paths;
    expect([host, path]).toEqual(["herald.example.com", "/herald"]);
    const service = of(objects, "Service", "management-api");
    expect(backend.service).toEqual({ name: service.metadata.name, port: { name: service.spec.ports[0].name } });
    // The API answers below the path that the ingress hands on.
    expect(envOf(deployed("management-api").containers[0]).get("BASE_PATH")).toEqual({
      value: path,
    });
  });

  test("the chart's route leads from the gateway to the service of the API, and is there only if the values say so", () => {
    expect(minimal.filter(({ kind }) => kind === "HTTPRoute")).toEqual([]);
    const { metadata, spec } = of(objects, "HTTPRoute", "management-api");
    expect(metadata.annotations).toEqual({ "example.com/waf": "on" });
    const service = of(objects, "Service", "management-api");
    expect(spec).toEqual({
      parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }],
      hostnames: ["herald.example.com"],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/herald" } }],
          backendRefs: [{ name: service.metadata.name, port: service.spec.ports[0].port }],
        },
      ],
    });
  });

  test("the collector's headers come from a Secret", () => {
    for (const { containers } of COMPONENTS.map(deployed)) {
      expect(envOf(containers[0]).get("OTEL_EXPORTER_OTLP_HEADERS")).toEqual(secretKey("collector", "headers"));
    }
  });

  test("by the chart's network policies only peers that the values name read the metrics or call the API", () => {
    const ports = (objects: KubernetesObject[], component: string) =>
      of(objects, "NetworkPolicy", component).spec.ingress.map(
        ({ ports: [{ port }], from }: { ports: [{ port: unknown }]; from: unknown }) => [port, from],
      );
    expect(ports(minimal, "dispatcher")).toEqual([]);
    const inFront = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } };
    expect(ports(minimal, "management-api")).toEqual([["http", [inFront]]]);
    const scrapers = [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }];
    expect(ports(objects, "publisher")).toEqual([["metrics", scrapers]]);
    expect(ports(objects, "migrate")).toEqual([]);
  });

  test("the policy of the chart's job is there before it, and lets the doctor reach the broker and the key server", () => {
    const { metadata, spec } = of(minimal, "NetworkPolicy", "migrate");
    expect(metadata.annotations).toMatchObject({
      "helm.sh/hook": "pre-install,pre-upgrade",
      "helm.sh/hook-weight": "-5",
      // Without this it would stay when the release is removed.
      "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    });
    const ports = spec.egress.map(({ ports: [{ port }] }: { ports: [{ port: unknown }] }) => port);
    expect(ports).toEqual([53, 5432, 5672, 443]);
  });

  test("of the chart's pods only dispatchers reach the internet, and no private address", () => {
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

  test("what the chart's values call ranges of the cluster is closed by Herald itself too", () => {
    const deniedBy = (container: unknown) => envOf(container).get("DENIED_NETWORKS");
    const denied = { value: "203.0.113.0/24,2001:db8::/32" };
    expect(deniedBy(deployed("dispatcher").containers[0])).toEqual(denied);
    expect(deniedBy(deployed("management-api").containers[0])).toEqual(denied);
    expect(deniedBy(job().containers[0])).toEqual(denied);
    expect(deniedBy(deployed("publisher").containers[0])).toBeUndefined();
    expect(deniedBy(podOf(minimal, "Deployment", "dispatcher").containers[0])).toBeUndefined();
  });

  test("the chart runs relays for each outbox, which reach its database, the broker and nothing else", () => {
    expect(of(objects, "Deployment", "relay-billing").spec.replicas).toBe(3);
    const [billing] = deployed("relay-billing").containers;
    expect(billing.args).toEqual(["relay"]);
    expect(billing.readinessProbe.httpGet.path).toBe("/readyz");
    const env = envOf(billing);
    expect(env.get("OUTBOX_DATABASE_URL")).toEqual(secretKey("billing-db", "relay-url"));
    expect(env.get("AMQP_URL")).toEqual(secretKey("mq", "emitter-url"));
    expect(env.get("AMQP_CA_FILE")).toEqual({ value: "/etc/herald/ca/broker/root.pem" });
    expect(env.get("OUTBOX_TABLE")).toEqual({ value: "billing.outbox" });
    expect(env.get("OUTBOX_KEEP_DAYS")).toEqual({ value: "30" });
    expect(env.get("BROKER_NAMESPACE")).toEqual({ value: "tenant-a" });
    // It has nothing of Herald's own.
    expect([env.has("DATABASE_URL"), env.has("SECRET_KEYS")]).toEqual([false, false]);
    const planning = envOf(deployed("relay-planning").containers[0]);
    expect(planning.get("AMQP_URL")).toEqual(secretKey("planning-mq", "url"));
    expect(planning.get("OUTBOX_KEEP_DAYS")).toEqual({ value: "14" });

    const { spec } = of(objects, "NetworkPolicy", "relay-billing");
    expect(spec.egress.map(({ ports: [{ port }] }: { ports: [{ port: unknown }] }) => port)).toEqual([
      53, 3306, 5671, 4318,
    ]);
    expect(spec.ingress).toMatchObject([{ ports: [{ port: "metrics" }] }]);
    expect(of(objects, "PodDisruptionBudget", "relay-planning").spec.maxUnavailable).toBe(1);
    expect(minimal.filter(({ metadata }) => metadata.name.includes("relay"))).toEqual([]);
  });

  test("in the chart's values a service's own settings win, also if they say no", () => {
    const env = envOf(deployed("management-api").containers[0]);
    const values = ["LOG_LEVEL", "STANDARD_WEBHOOKS", "MAX_ENDPOINTS"].map((name) => env.get(name));
    expect(values).toEqual([{ value: "info" }, { value: "false" }, { value: "1000" }]);
  });

  test("KEDA scales dispatchers by what waits for this Herald, and publishers by what waits in its inbox", () => {
    const { status, stdout, stderr } = template(["everything.yaml"], ["--namespace=prod"]);
    if (status !== 0) throw new Error(stderr);
    const inProd = parsed(stdout);
    const own = 'namespace="prod"';
    const scaled = (component: string) => {
      expect(of(inProd, "Deployment", component).spec.replicas).toBeUndefined();
      const { triggers } = of(inProd, "ScaledObject", component).spec;
      return triggers.map(({ metadata }: { metadata: object }) => metadata);
    };
    const serverAddress = "http://prometheus.monitoring:9090";
    expect(scaled("dispatcher")).toMatchObject([
      { query: `max(herald_deliveries_unfinished{${own},state="due"})`, threshold: "1000", serverAddress },
      {
        query: `min_over_time(max(herald_oldest_due_delivery_age_seconds{${own},waits_for="herald"})[1m:15s])`,
        threshold: "30",
        serverAddress,
      },
    ]);
    const isThere = `min(herald_dependency_up{${own},service="publisher",dependency="database"})`;
    const { triggers } = of(inProd, "ScaledObject", "publisher").spec;
    expect(triggers[0].authenticationRef).toEqual({ name: "prometheus", kind: "ClusterTriggerAuthentication" });
    expect(triggers[0].metadata.authModes).toBe("bearer");
    expect(scaled("publisher")).toMatchObject([
      { query: `max(herald_queue_messages{${own},queue="inbox"}) * ${isThere}`, threshold: "2000", serverAddress },
    ]);
  });

  test("Kubernetes scales the API by the CPU that its pods request, and the chart then says no number", () => {
    const { spec } = of(objects, "HorizontalPodAutoscaler", "management-api");
    const deployment = of(objects, "Deployment", "management-api");
    expect(spec.scaleTargetRef.name).toBe(deployment.metadata.name);
    expect([spec.minReplicas, spec.maxReplicas, deployment.spec.replicas]).toEqual([3, 12, undefined]);
    expect(spec.metrics[0].resource.target).toEqual({ type: "Utilization", averageUtilization: 60 });
    expect(deployment.spec.template.spec.containers[0].resources.requests.cpu).toBe("100m");
    expect(minimal.filter(({ kind }) => kind === "HorizontalPodAutoscaler")).toEqual([]);
  });

  test("the chart's alerts are the deployed ones, with whole links", () => {
    const [rule] = objects.filter(({ kind }) => kind === "PrometheusRule");
    const deployed = readFileSync(join(CHART, "files", "rules.yml"), "utf8");
    const linked = deployed.replaceAll("runbook_url: ", "runbook_url: https://docs.example.com/herald/");
    expect(rule?.spec).toEqual(parseAllDocuments(linked)[0]?.toJS());
  });

  test("the chart's dashboard is the deployed one, with the label by which Grafana finds it", () => {
    const [map] = objects.filter(({ kind }) => kind === "ConfigMap");
    expect(map?.metadata.labels).toMatchObject({ grafana_dashboard: "1", team: "integrations" });
    const deployed = readFileSync(join(CHART, "files", "dashboard.json"), "utf8");
    expect((map as { data?: object } | undefined)?.data).toEqual({ "herald.json": deployed.trimEnd() });
    expect(minimal.filter(({ kind }) => kind === "ConfigMap")).toEqual([]);
  });
});

test("without any values the chart names everything that is missing, at once", () => {
  const { status, stderr } = template([]);
  expect(status).not.toBe(0);
  const ofServices = ["managementApi", "publisher", "dispatcher"].flatMap((name) => [
    `${name}.database`,
    `${name}.broker`,
  ]);
  for (const name of [...ofServices, "databaseOwner", "secretKeys"]) {
    expect(stderr).toContain(`secrets.${name}.name: name an existing Secret that holds`);
  }
  expect(stderr).toContain("managementApi.settings: set AUTH_JWKS_URL");
  expect(stderr).toContain("managementApi.settings.SECRET_SEALING_KEY: say the public key");
  expect(stderr).toContain("managementApi.settings.PUBLIC_ORIGIN: say where browsers see the admin page");
  expect(stderr).toContain("networkPolicy.database.peers: say where it is");
  expect(stderr).toContain("networkPolicy.apiClients: say who may call the management API");
});

test("the chart refuses the parts of a DATABASE_URL that do not make a whole", () => {
  const { status, stderr } = template(["everything.yaml"], ["--set", "secrets.databaseOwner.keys.username=user"]);
  expect(status).not.toBe(0);
  expect(stderr).toContain("secrets.databaseOwner.keys: name the keys of username and password");
  expect(stderr).toContain("secrets.databaseOwner.host: say where PostgreSQL is");
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
  [
    "managementApi.autoscaling.enabled=true,managementApi.autoscaling.minReplicas=11",
    "managementApi.autoscaling.minReplicas: is more",
  ],
  ["publisher.autoscaling.enabled=true", "publisher.autoscaling.prometheusUrl: say which Prometheus"],
  ["dispatcher.settings.DENIED_NETWORKS=8.8.8.8", "dispatcher.settings.DENIED_NETWORKS: put these into"],
  ["dispatcher.replica=3", "replica"],
  ["secrets.publisher.database.name=Not A Name", "secrets/publisher/database/name|secrets.publisher.database.name"],
  ["image.digest=latest", "image.digest|image/digest"],
  ["settings.logLevel=debug", "logLevel"],
  ["secrets.publisher.database.host=", "secrets.publisher.database.host: say where PostgreSQL is"],
  ["managementApi.ingress.enabled=true", "managementApi.ingress.host: say the name"],
  ["managementApi.route.enabled=true", "managementApi.route: say by host the name"],
  ["dispatcher.pod.nodeSelectors.a=b", "nodeSelectors"],
  [
    "relay.outboxes[0].name=a,relay.outboxes[0].database.name=db,relay.outboxes[0].database.key=uri",
    "relay.outboxes[0].networkPolicy: say by peers and port where the database of a is",
  ],
  [
    "relay.outboxes[0].name=a,relay.outboxes[0].database.name=db,relay.outboxes[0].database.key=uri",
    "relay.broker.name: name an existing Secret",
  ],
  ["relay.outboxes[0].name=a", "database"],
  ["monitoring.podMonitor.enabled=true", "networkPolicy.scrapers: say where Prometheus is"],
  ["caFiles.broker.secret=a,caFiles.broker.configMap=b", "caFiles.broker: name a Secret or a ConfigMap, and not both"],
])("the chart refuses --set %s", (set, message) => {
  const { status, stderr } = template(["minimal.yaml"], ["--set", set]);
  expect(status).not.toBe(0);
  expect(stderr).toMatch(new RegExp(message.replace(/[()[\]]/g, "\\$&")));
});
