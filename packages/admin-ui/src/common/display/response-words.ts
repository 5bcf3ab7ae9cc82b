/**
 * What there is to say beside a status code: the error summary without the code that it may repeat. Network failures are
 * recorded as 503 (SPEC 2.2), and only their summary tells them from a receiver that answered 503.
 */
export function besideStatus(statusCode: number | null, errorSummary: string | null): string {
  if (errorSummary === null) return "";
  const repeated = `receiver answered ${statusCode}`;
  if (!errorSummary.startsWith(repeated)) return errorSummary;
  return errorSummary.slice(repeated.length).replace(/^[,:;]?\s*/, "");
}
