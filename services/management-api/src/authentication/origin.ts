import type { Request } from "express";
import { ProblemError } from "../problems/problem-error.ts";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Browsers send cookies along with what other sites make them request; only the page's own requests may change
 * anything. The host alone is compared where no public origin is set, since a proxy may have ended TLS.
 *
 * @throws ProblemError `origin_mismatch`
 */
export function assertSameOrigin(request: Request, publicOrigin: string | undefined): void {
  if (SAFE_METHODS.has(request.method)) return;
  const { origin, host } = request.headers;
  const matches =
    origin !== undefined &&
    (publicOrigin === undefined
      ? URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
      : origin === publicOrigin);
  if (!matches) throw new ProblemError("origin_mismatch");
}
