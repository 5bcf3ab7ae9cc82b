import type { Setting, Settings } from "@herald/common/config/settings";

/** A setting, and the services that read it. */
export interface KnownSetting {
  name: string;
  setting: Setting;
  services: string[];
}

/**
 * The settings of all services, each once, in the order of the services. Where several describe a setting, the first that is
 * given says what it means: give the service first that the setting is made for.
 *
 * @throws where two services disagree about a setting in more than its description
 */
export function knownSettings(services: Readonly<Record<string, Settings>>): KnownSetting[] {
  const known = new Map<string, KnownSetting>();
  for (const [service, settings] of Object.entries(services)) {
    for (const [name, setting] of Object.entries(settings)) {
      const same = known.get(name);
      if (!same) known.set(name, { name, setting, services: [service] });
      else if (schemaOf(same.setting) === schemaOf(setting)) same.services.push(service);
      else throw new Error(`${name} is not the same for ${same.services.join(", ")} and ${service}.`);
    }
  }
  return [...known.values()];
}

function schemaOf({ description: _description, ...schema }: Setting): string {
  return JSON.stringify(Object.entries(schema).sort(([a], [b]) => (a < b ? -1 : 1)));
}
