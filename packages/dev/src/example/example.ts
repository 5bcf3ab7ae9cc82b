/** A whole app of the folder examples/: a product that emits, and billing that receives. Each has the same HTTP API. */
export interface Example {
  /** Its folder. */
  name: string;
  /** Installs and compiles it, where it has not been done. Returns what starts it. */
  build(): Promise<StartApp>;
}

/** Starts the app, and resolves when it listens. What goes wrong in it goes to this process's standard error. */
export type StartApp = (settings: AppSettings) => Promise<RunningApp>;

export interface RunningApp {
  stop(): Promise<void>;
}

/** What an app reads from its environment; its README says what each means. */
export interface AppSettings {
  DATABASE_URL: string;
  AMQP_URL: string;
  NAMESPACE: string;
  ORGANIZATION_ID: string;
  PORT: string;
  WEBHOOK_PORT: string;
  WEBHOOK_SECRET: string;
  TLS_CERT_FILE: string;
  TLS_KEY_FILE: string;
}
