const pagePath = "/administration/integrations/";

/**
 * Where the page and the API are, told from the `<base>` that the server wrote: its BASE_PATH is known only there.
 * @returns `router`: what client-side routes stand below, without a trailing slash; `api`: the prefix of the management routes.
 */
export function addressesFrom(baseUri: string): { router: string; api: string } {
  const path = new URL(baseUri).pathname;
  const end = path.lastIndexOf(pagePath);
  const basePath = end < 0 ? "" : path.slice(0, end);
  return { router: `${basePath}${pagePath.slice(0, -1)}`, api: `${basePath}/api/organization/integration-operations` };
}
