import { writeFileSync } from "node:fs";
import { projectFolder } from "@herald/devkit/stack";
import { configurationFiles } from "../configuration/index.ts";

for (const [file, text] of Object.entries(configurationFiles(projectFolder()))) writeFileSync(file, text);
