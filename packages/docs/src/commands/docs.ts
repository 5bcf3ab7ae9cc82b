import { writeFileSync } from "node:fs";
import { projectFolder } from "@herald/testkit/stack/folders";
import { asyncApiFiles } from "../asyncapi/index.ts";
import { configurationFiles } from "../configuration/index.ts";

const files = { ...configurationFiles(projectFolder()), ...asyncApiFiles(projectFolder()) };
for (const [file, text] of Object.entries(files)) writeFileSync(file, text);
