import { MAX_HEADERS } from "@herald/contracts";
import { useId } from "react";
import { classNames } from "../../common/class-names.ts";
import { Button } from "../../common/form/Button.tsx";
import { Problems, TextField } from "../../common/form/Field.tsx";
import shared from "../../common/shared.module.css";
import type { HeaderRow } from "./edits.ts";
import css from "./webhook.module.css";

interface Props {
  rows: readonly HeaderRow[];
  /** The names that have a value already, which can't be shown. */
  stored: readonly string[];
  onChange: (rows: readonly HeaderRow[]) => void;
  problems: readonly string[];
  readOnly: boolean;
}

/** The own headers of a receiver, such as the credentials that a gateway before it asks for. */
export function HeaderFields({ rows, stored, onChange, problems, readOnly }: Props) {
  const problemId = useId();
  const put = (at: number, changes: Partial<HeaderRow>) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...changes } : row)));
  return (
    <fieldset className={shared.column} aria-describedby={problemId}>
      <legend className={classNames(shared.small, shared.strong)}>Own headers</legend>
      <p className={shared.note}>
        Sent with each delivery, for a receiver that asks for an API key or a password. They are not signed, and their
        values are never shown again.
      </p>
      {rows.map((row, at) => (
        // Rows have no identity but their place.
        <div key={at} className={css.ownHeader}>
          <TextField
            label={`Name of header ${at + 1}`}
            aria-invalid={problems.some((problem) => problem.startsWith(`${row.name}: `)) || undefined}
            mono
            placeholder="Authorization"
            value={row.name}
            onChange={(name) => put(at, { name })}
            readOnly={readOnly}
          />
          <TextField
            label={`Value of header ${at + 1}`}
            mono
            placeholder={stored.includes(row.name) ? "•••••••• (kept)" : "Bearer …"}
            value={row.value}
            onChange={(value) => put(at, { value })}
            readOnly={readOnly}
          />
          {readOnly ? null : (
            <Button icon="trash" iconOnly kind="quiet" onClick={() => onChange(rows.filter((each) => each !== row))}>
              {`Remove header ${at + 1}`}
            </Button>
          )}
        </div>
      ))}
      <Problems id={problemId} problems={problems} />
      {readOnly || rows.length >= MAX_HEADERS ? null : (
        <div className={css.start}>
          <Button icon="plus" kind="quiet" onClick={() => onChange([...rows, { name: "", value: "" }])}>
            Add a header
          </Button>
        </div>
      )}
    </fieldset>
  );
}
