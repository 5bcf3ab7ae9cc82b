/** One environment variable: its JSON Schema type and bounds, what it means, and what it is when it's absent. */
export interface Setting {
  type: "string" | "integer" | "number" | "boolean";
  /** One sentence for the operator; the configuration reference is made of these. */
  description: string;
  default?: string | number | boolean;
  /** Has no default, and the service cannot do without. */
  required?: true;
  /** Never printed; may also come from a file, named by the variable with `_FILE` appended. */
  secret?: true;
  /** No secret, but made together with one: may come from a file too. */
  fromFile?: true;
  /** All processes that read it have to be told the same. They compare it: see processes.ts. */
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
