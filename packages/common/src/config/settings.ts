/** One environment variable: its JSON Schema type and bounds, what it means, and what it is when it's absent. */
export interface Setting {
  type: "string" | "integer" | "number" | "boolean";
  /** One sentence for the operator; the configuration reference is made of these. */
  description: string;
  default?: string | number | boolean;
  /** True where the setting has no default, and the service does not start without it. */
  required?: true;
  /** True for a secret. It is never printed, and may also come from a file, named by the variable with `_FILE` appended. */
  secret?: true;
  /** True where the value is no secret, but made together with one: it may come from a file too. */
  fromFile?: true;
  /** All processes that read the setting must have the same value. They compare it: see processes.ts. */
  shared?: true;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  pattern?: string;
  format?: string;
}

export type Settings = Record<string, Setting>;

type ValueOf<S extends Setting> = S["enum"] extends readonly (infer V)[]
  ? V
  : S["type"] extends "string"
    ? string
    : S["type"] extends "boolean"
      ? boolean
      : number;

type IsAlwaysThere<S extends Setting> = S extends { default: unknown } | { required: true } ? true : false;

/** The values of some settings, by the names of their environment variables. */
export type Config<S extends Settings> = {
  readonly [K in keyof S]: IsAlwaysThere<S[K]> extends true ? ValueOf<S[K]> : ValueOf<S[K]> | undefined;
};
