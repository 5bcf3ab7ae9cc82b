import type { FieldProblem } from "@herald/contracts";
import { useEffect, useState } from "react";
import { checkWebhook } from "../../api/queries.ts";
import { type Draft, type DraftField, FIELDS } from "./edits.ts";

const TYPING_PAUSE_MS = 350;

/**
 * What the API would say to the form as it stands, asked after a short pause in typing. Only fields that were touched are asked
 * about. When nothing answers, nothing is said: saving checks everything anyway.
 */
export function useLiveChecks(
  draft: Draft,
  touched: ReadonlySet<DraftField>,
  active: boolean,
): readonly FieldProblem[] {
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const asked = FIELDS.filter((field) => touched.has(field) && field !== "enabled");
  const body = JSON.stringify(Object.fromEntries(asked.map((field) => [field, draft[field]])));
  useEffect(() => {
    if (!active || body === "{}") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      checkWebhook(JSON.parse(body), stop.signal).then(
        ({ errors }) => setProblems(errors),
        () => {},
      );
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [body, active]);
  return problems;
}
