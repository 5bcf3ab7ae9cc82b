export {
  networkSettings,
  secretSettings,
  serviceSettings,
  sharedSettings,
  tracingSettings,
} from "./common-settings.ts";
export { CONFIG_EXIT_CODE, ConfigError, type Environment, readConfig } from "./read-config.ts";
export type { Config, Setting, Settings } from "./settings.ts";
