import { MAX_HEADERS } from "@herald/contracts";
import { useId } from "react";
import { classNames } from "../../common/class-names.ts";
import { Button } from "../../common/form/Button.tsx";
import { Problems } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import shared from "../../common/shared.module.css";
import type { HeaderRow } from "./edits.ts";
import css from "./webhook.module.css";

interface Props {
  rows: readonly HeaderRow[];
  /** The names that have a value already, which can't be shown. */
  stored: readonly string[];
  /** The URL is of another server than the stored one: no value is kept. */
  isMoved: boolean;
  onChange: (rows: readonly HeaderRow[]) => void;
  problems: readonly string[];
  /** What of a header, by its name, the API has refused. */
  faultAt: (name: string) => "name" | "value" | undefined;
  readOnly: boolean;
}

/** The own headers of a receiver, such as the credentials that a gateway before it asks for: pairs of a name and a value. */
export function HeaderFields({ rows, stored, isMoved, onChange, problems, faultAt, readOnly }: Props) {
  const problemId = useId();
  const put = (at: number, changes: Partial<HeaderRow>) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...changes } : row)));
  const isStored = ({ name }: HeaderRow) => stored.includes(name);
  const isLost = (row: HeaderRow) => isMoved && isStored(row) && row.value === "";
  const moved = rows.some(isLost)
    ? ["The URL is of another server now, so no stored value is kept: give each again, or remove the header."]
    : [];
  const input = {
    autoComplete: "off",
    spellCheck: false,
    readOnly,
    className: classNames(controls.input, controls.mono),
  };
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
          <input
            {...input}
            aria-label={`Name of header ${at + 1}`}
            aria-invalid={faultAt(row.name) === "name" || undefined}
            placeholder="Name, as Authorization"
            value={row.name}
            onChange={({ target }) => put(at, { name: target.value })}
          />
          <input
            {...input}
            aria-label={`Value of header ${at + 1}`}
            aria-invalid={faultAt(row.name) === "value" || isLost(row) || undefined}
            placeholder={isStored(row) && !isMoved ? "•••••••• (kept)" : "Value, as Bearer …"}
            value={row.value}
            onChange={({ target }) => put(at, { value: target.value })}
          />
          {readOnly ? null : (
            <Button icon="trash" iconOnly kind="quiet" onClick={() => onChange(rows.filter((each) => each !== row))}>
              {`Remove header ${at + 1}`}
            </Button>
          )}
        </div>
      ))}
      <Problems id={problemId} problems={[...moved, ...(moved.length > 0 ? [] : problems)]} />
      {readOnly || rows.length >= MAX_HEADERS ? null : (
        <Button className={css.atStart} icon="plus" onClick={() => onChange([...rows, { name: "", value: "" }])}>
          Add a header
        </Button>
      )}
    </fieldset>
  );
}
