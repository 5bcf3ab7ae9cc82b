/** The own headers of an endpoint as its row has them: names, and values that are sealed one by one, so that an edit can keep some. */
export type SealedHeaders = Readonly<Record<string, string>>;

/** What the value of a header is sealed for: it opens under no other name or endpoint, and no signing secret opens as one. */
export function headerContext(endpointId: string, name: string): string {
  return `${endpointId} header ${name}`;
}
