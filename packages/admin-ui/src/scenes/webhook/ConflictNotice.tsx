import { ApiProblem } from "../../api/client.ts";
import { classNames } from "../../common/class-names.ts";
import { ChangeProblem, Notice } from "../../common/feedback/Notice.tsx";
import shared from "../../common/shared.module.css";
import { type Conflict, fieldNames } from "./edits.ts";
import css from "./webhook.module.css";

/** Why saving failed. Problems of a field are shown beside the field; here only their number. */
export function SaveProblem({ error }: { error: unknown }) {
  if (!error) return null;
  if (error instanceof ApiProblem && error.status === 400 && error.problem.errors?.length) {
    const count = error.problem.errors.length;
    const words = count === 1 ? "One thing needs correcting; it is" : `${count} things need correcting; they are`;
    return (
      <Notice tone="bad" title="It was not saved." urgent>
        <p>{words} marked above.</p>
      </Notice>
    );
  }
  return <ChangeProblem error={error} done="saved" />;
}

/** After a 409: what was typed stays, and what others changed is listed field by field. */
export function ConflictNotice({ conflicts, secretReplaced }: { conflicts: Conflict[]; secretReplaced: boolean }) {
  return (
    <Notice tone="care" title="The webhook was changed while you edited it. It was not saved." urgent>
      {secretReplaced ? <p>Its signing secret was replaced.</p> : null}
      {conflicts.length === 0 ? (
        <p>No setting is different from what it was when you began. Save again to go on.</p>
      ) : (
        <>
          <p>What you typed is still here. Look at what has changed, then save again.</p>
          <ul className={classNames(shared.column, css.conflicts)}>
            {conflicts.map((conflict) => (
              <Change key={conflict.field} conflict={conflict} />
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}

function Change({ conflict: { field, before, now, yours } }: { conflict: Conflict }) {
  return (
    <li className={css.conflict}>
      <strong>{fieldNames[field]}</strong>
      <span>
        was <q>{before}</q>, is now <q>{now}</q>.{" "}
        {yours === null ? (
          "The form shows what it is now."
        ) : (
          <>
            You typed <q>{yours}</q>, and saving puts that in.
          </>
        )}
      </span>
    </li>
  );
}
