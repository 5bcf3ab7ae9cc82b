/** The API takes longer for no request. */
const ANSWER_MS = 30_000;

/** A problem of the API in its own words; else what came. */
function wordsOf(text: string): string {
  try {
    const { detail, errors = [] } = JSON.parse(text) as { detail?: string; errors?: { detail: string }[] };
    if (typeof detail === "string") return [detail, ...errors.map((each) => each.detail)].join(" ");
  } catch {
    // It is no problem of the API.
  }
  return text.slice(0, 1_000);
}

/** Has a Herald, by the address of its API with its base path, send all its types of events to a listener. @throws its reason if it refuses */
export async function createEndpoint(herald: URL, token: string, url: string) {
  const api = `${herald.href.replace(/\/$/, "")}/api/organization/integration-operations`;
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(ANSWER_MS);
    const given = { method, headers, signal, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${api}${path}`, given).catch((error: Error) => {
      const why = (error.cause as Error)?.message ?? error.message;
      throw new Error(`Herald can't be reached at ${herald.href} (${why}): start it, or correct --herald`);
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Herald answers ${answer.status} to ${method} ${path}: ${wordsOf(text)}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const events = ((await ask("GET", "/event-types")) as { name: string }[]).map((type) => type.name);
  const name = `herald-listen ${new Date().toISOString()}`;
  const created = await ask("POST", "/webhooks", { name, url, enabled: true, events });
  const { endpoint, signingSecret } = created as { endpoint: { id: string }; signingSecret: string };
  return {
    secret: signingSecret,
    delete: async () => {
      const { version } = (await ask("GET", `/webhooks/${endpoint.id}`)) as { version: string };
      await ask("DELETE", `/webhooks/${endpoint.id}`, { version });
    },
  };
}
