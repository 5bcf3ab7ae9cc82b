import type { Resend } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { resendsQuery, stopResend } from "../../api/queries.ts";
import { announce } from "../../common/feedback/announce.ts";
import { LoadError } from "../../common/feedback/LoadError.tsx";
import { ProblemNotice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Panel } from "../../common/page/Panel.tsx";
import { useManageBlock } from "../../common/session.tsx";
import { Time } from "../../common/time/Time.tsx";
import css from "./NeverGot.module.css";
import { deliveriesIn, progressWords, stateWords } from "./resend-words.ts";

/** What was sent again, newest first, and how far it is. Empty where nothing ever was. */
export function Resends({ id }: { id: string }) {
  const { data, error } = useQuery(resendsQuery(id));
  useEndNoticed(id, data?.resends);
  if (data === undefined) return error ? <LoadError error={error} what="what was sent again" level={2} /> : null;
  if (data.resends.length === 0) return null;
  return (
    <Panel title="Sent again">
      <ol aria-label="What was sent again, newest first">
        {data.resends.map((resend) => (
          <Row key={resend.id} id={id} resend={resend} />
        ))}
      </ol>
    </Panel>
  );
}

function Row({ id, resend }: { id: string; resend: Resend }) {
  const client = useQueryClient();
  const block = useManageBlock();
  const stop = useMutation({
    mutationFn: () => stopResend(id, resend.id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["resends", id] }),
  });
  const isRunning = resend.state === "running";
  return (
    <li className={css.resend}>
      <div className={css.head}>
        <p>
          <strong>{stateWords(resend)}</strong>: {deliveriesIn(resend.total)}, started by{" "}
          {resend.startedBy ?? "an admin"} <Time iso={resend.startedAtUtc} />
        </p>
        {isRunning ? (
          <Button icon="stop" busy={stop.isPending} disabledReason={block} onClick={() => stop.mutate()}>
            Stop
          </Button>
        ) : null}
      </div>
      {stop.error ? <ProblemNotice error={stop.error} what="It was not stopped." /> : null}
      {isRunning ? (
        <progress className={css.progress} max={resend.total} value={resend.sent} aria-label="Deliveries sent again" />
      ) : null}
      <p className={css.numbers}>{progressWords(resend)}</p>
    </li>
  );
}

/** When a resend that ran has ended, who listens is told, and what is left is counted anew. */
function useEndNoticed(id: string, resends: readonly Resend[] | undefined): void {
  const client = useQueryClient();
  const running = useRef<string | undefined>(undefined);
  useEffect(() => {
    const ended = resends?.find((resend) => resend.id === running.current && resend.state !== "running");
    if (ended) {
      announce(`${stateWords(ended)}. ${progressWords(ended)}`);
      void client.invalidateQueries({ queryKey: ["resend-preview", id] });
    }
    running.current = resends?.find(({ state }) => state === "running")?.id;
  }, [client, id, resends]);
}
