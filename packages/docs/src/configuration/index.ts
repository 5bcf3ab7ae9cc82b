import { join } from "node:path";
import { dispatcherSettings } from "@herald/dispatcher";
import { managementApiSettings } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { envExample } from "./env-example.ts";
import { knownSettings } from "./known-settings.ts";
import { configurationDocument } from "../configuration.ts";

/** What the configuration's documents should hold, by file. */
export function configurationFiles(projectFolder: string): Record<string, string> {
  // The page of the management API shows what the others do, so these come first: they say what it means.
  const services = {
    dispatcher: dispatcherSettings,
    publisher: publisherSettings,
    "management-api": managementApiSettings,
  };
  const settings = knownSettings(services);
  return {
    [join(projectFolder, "docs", "configuration.md")]: configurationDocument(settings, Object.keys(services)),
    [join(projectFolder, ".env.example")]: envExample(settings),
  };
}
