import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { projectFolder } from "../src/stack/folders.ts";

test.each(["deploy/docker/Dockerfile", "deploy/systemd/herald.service", "packages/dev/src/start/services.ts"])(
  "regression: %s bounds what V8 lets new objects take, which is 192 MiB on a large machine",
  (file) => expect(readFileSync(join(projectFolder(), file), "utf8")).toContain("--max-semi-space-size=8"),
);
