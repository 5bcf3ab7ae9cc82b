import { join } from "node:path";
import { migrate, openDatabase } from "@herald/common/database";
import { startDemoReceiver } from "../demo-receiver/index.ts";
import { localFolder, projectFolder } from "../stack/folders.ts";
import { freePort } from "../stack/ports.ts";
import { startPostgres } from "../stack/postgres.ts";
import { endStaleProcesses } from "../stack/processes.ts";
import { startRabbitmq } from "../stack/rabbitmq.ts";
import {
  DEMO_ORGANIZATION,
  DEVELOPMENT_AUDIENCE,
  DEVELOPMENT_ISSUER,
  developmentToken,
  FULL_ACCESS,
} from "./development-token.ts";
import { localCertificates } from "./local-certificates.ts";
import { localSecrets } from "./local-secrets.ts";
import { panel } from "./panel.ts";
import type { Progress } from "./progress.ts";
import { type RunInfo, removeRunFile, writeRunFile } from "./run-file.ts";
import { forTheTerminal } from "./service-lines.ts";
import { type ServiceSpec, type SupervisedService, superviseService } from "./services.ts";
