import { join } from "node:path";
import { stringify } from "yaml";
import { asyncApiDocument } from "../asyncapi.ts";

/** What the AsyncAPI document should hold, by file. */
export function asyncApiFiles(projectFolder: string): Record<string, string> {
  // Through JSON, so that what is undefined is not there.
  const document = JSON.parse(JSON.stringify(asyncApiDocument()));
  const text = stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
  return { [join(projectFolder, "docs", "asyncapi.yaml")]: text };
}
