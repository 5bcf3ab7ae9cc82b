import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type Connection, useConnection } from "../api/connection.ts";
import { sessionQuery } from "../api/queries.ts";
import { Notice } from "../common/feedback/Notice.tsx";
import { Button } from "../common/form/Button.tsx";
import { product } from "../common/product.ts";
import { Time } from "../common/time/Time.tsx";
import css from "./ConnectionBanner.module.css";

/** Says what is wrong with the connection to the API, above the page. The region is always there, so that it is read out. */
export function ConnectionBanner() {
  const connection = useConnection();
  // Until the session is there, the page has nothing else to say than just this.
  const { data: session } = useQuery({ ...sessionQuery, enabled: false });
  return (
    <div className={css.banner} role="status">
      {session || connection.slow ? <Words connection={connection} /> : null}
    </div>
  );
}

function Words({ connection }: { connection: Connection }) {
  const { downSince, lastAnswerAt, sessionLost, signInUrl, slow } = connection;
  if (downSince !== null) {
    return (
      <Notice tone="bad" icon="offline" title={`${product.name}'s API can't be reached.`} actions={<TryNow />}>
        <p>
          It stopped answering <Time iso={iso(downSince)} />.{" "}
          {lastAnswerAt === null ? null : (
            <>
              What you see is from <Time iso={iso(lastAnswerAt)} />.{" "}
            </>
          )}
          The page asks again every few seconds; what you have typed stays.
        </p>
      </Notice>
    );
  }
  if (sessionLost) {
    return (
      <Notice tone="care" icon="lock" title="Your session has ended." actions={<TryNow />}>
        <p>
          {signInUrl ? (
            <>
              <a href={signInUrl} target="_blank" rel="noreferrer">
                Sign in again
              </a>{" "}
              in a new tab,
            </>
          ) : (
            "Sign in to your product again in another tab,"
          )}{" "}
          then carry on here: nothing on this page is lost.
        </p>
      </Notice>
    );
  }
  return slow ? (
    <Notice tone="plain" icon="clock" title={`${product.name}'s API is slow: still waiting for its answer.`} />
  ) : null;
}

function TryNow() {
  const client = useQueryClient();
  return (
    <Button icon="retry" onClick={() => void client.refetchQueries({ type: "active" })}>
      Try now
    </Button>
  );
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
