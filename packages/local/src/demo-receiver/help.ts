/** What to run so that requests of an endpoint that is not in the local database verify. */
export function tellSecret(controlUrl: string): string {
  return `To tell this receiver the endpoint's signingSecret: curl -k ${controlUrl}/secrets -H 'Content-Type: application/json' -d '{"secret": "<signingSecret>"}'`;
}

/** The answer to a browser. */
export function help(controlUrl: string): string {
  return `Herald's demo receiver. Point an endpoint at ${controlUrl}/hooks and it answers 200 to what verifies.

  ${controlUrl}/hooks?status=500&delayMs=2000   answers so, that late
  ${controlUrl}/hooks?failTimes=2               fails the first two attempts of each delivery
  ${controlUrl}/hooks/hang                      never answers
  ${controlUrl}/hooks/cut                       cuts the connection

  GET, DELETE ${controlUrl}/requests            what arrived (?after=<number>)
  GET, PUT    ${controlUrl}/control             {"status", "delayMs", "failTimes", "mode": "answer" | "hang" | "cut"}
  POST        ${controlUrl}/secrets             {"secret": "<signingSecret>"}

`;
}
