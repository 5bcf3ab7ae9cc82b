import type { KnownSetting } from "./known-settings.ts";

/** `.env.example`: every setting with its default, commented out; those that must be set are empty. */
export function envExample(settings: readonly KnownSetting[]): string {
  const required = settings.filter(({ setting }) => setting.required);
  const others = settings.filter(({ setting }) => !setting.required);
  return `${HEAD}
# --- needed

${required.map(entry).join("\n")}
# --- with their defaults

${others.map(entry).join("\n")}`;
}

const HEAD = `# Settings of Herald's services. docs/configuration.md says more; both are written by "pnpm reference".
# A secret can also come from a file: NAME_FILE=/path instead of NAME.
`;

function entry({ name, setting, services }: KnownSetting): string {
  const { description, required, default: value } = setting;
  const line = required ? `${name}=` : `#${name}=${value ?? ""}`;
  return `# ${description} [${services.join(", ")}]\n${line}\n`;
}
