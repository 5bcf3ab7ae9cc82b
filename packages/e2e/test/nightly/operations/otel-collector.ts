import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { askForGo } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { startProcess } from "@herald/dev/stack/processes";
import { output } from "../../../src/child.ts";

const VERSION = "0.165.0";

/** OpenTelemetry's own collector, with the parts that are needed here: its project publishes it as modules. */
const MODULE = `module collector

go 1.25

require (
	go.opentelemetry.io/collector/confmap/provider/yamlprovider v1.71.0
	go.opentelemetry.io/collector/exporter/otlphttpexporter v${VERSION}
	go.opentelemetry.io/collector/otelcol v${VERSION}
	go.opentelemetry.io/collector/receiver/otlpreceiver v${VERSION}
	go.opentelemetry.io/collector/service v${VERSION}
)
`;
const PROGRAM = `package main

import (
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	receivers, _ := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory())
	own := otelconftelemetry.NewFactory()
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: own}, err
}

func main() {
	providers := []confmap.ProviderFactory{yamlprovider.NewFactory()}
	resolver := confmap.ResolverSettings{DefaultScheme: "yaml", ProviderFactories: providers}
	settings := otelcol.CollectorSettings{
		BuildInfo:              component.NewDefaultBuildInfo(),
		Factories:              factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: resolver},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
`;

/** Has Go build it. The first time takes minutes; Go keeps what it has fetched and compiled. */
async function build(): Promise<string> {
  const folder = join(projectFolder(), ".local", "otel-collector", VERSION);
  const program = join(folder, "collector");
  const { executable } = await askForGo();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "go.mod"), MODULE);
  writeFileSync(join(folder, "main.go"), PROGRAM);
  await output(executable, ["build", "-mod=mod", "-o", program, "."], folder);
  return program;
}

/** Starts OpenTelemetry's collector. It takes OTLP in all its forms over HTTP, and passes it on as JSON. */
export async function startOtelCollector(passOnTo: string): Promise<{ url: string; stop(): Promise<void> }> {
  const command = await build();
  const endpoint = `127.0.0.1:${await freePort()}`;
  const pipeline = { receivers: ["otlp"], exporters: ["otlphttp"] };
  // JSON is YAML.
  const configuration = JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: {
      otlphttp: { endpoint: passOnTo, encoding: "json", compression: "none", sending_queue: { enabled: false } },
    },
    service: { telemetry: { metrics: { level: "none" } }, pipelines: { traces: pipeline, metrics: pipeline } },
  });
  const mark = `yaml:${configuration}`;
  const pidFolder = join(projectFolder(), ".local", "otel-collector", "processes");
  const child = await startProcess({ name: "otel-collector", command, args: ["--config", mark], pidFolder, mark });
  const url = `http://${endpoint}`;
  try {
    await eventually(
      () =>
        fetch(url, { headers: { connection: "close" } }).catch(() => {
          throw new Error(`The collector does not answer:\n${child.lastLines().join("\n")}`);
        }),
      { timeoutMs: 30_000 },
    );
  } catch (error) {
    await child.stop(0);
    throw error;
  }
  return { url, stop: () => child.stop() };
}
