import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "../class-names.ts";
import { Icon } from "../display/Icon.tsx";
import controls from "./controls.module.css";
import css from "./controls.module.css";

interface FieldAttributes {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

interface Props {
  label: string;
  hint?: ReactNode;
  /** What is wrong with the value, in the API's words. */
  problems?: readonly string[];
  /** Between the label's line end and the field: e.g. a count. */
  aside?: ReactNode;
  children: (attributes: FieldAttributes) => ReactNode;
}

/** A control with its label, a hint, and what is wrong with it right beside it. */
export function Field({ label, hint, problems = [], aside, children }: Props) {
  const id = useId();
  const hintId = `${id}-hint`;
  const problemId = `${id}-problem`;
  const describedBy = [hint ? hintId : "", problems.length > 0 ? problemId : ""].filter(Boolean).join(" ");
  return (
    <div className={css.field}>
      <div className={css.head}>
        <label htmlFor={id}>{label}</label>
        {aside}
      </div>
      {children({ id, "aria-describedby": describedBy || undefined, "aria-invalid": problems.length > 0 || undefined })}
      <Problems id={problemId} problems={problems} />
      {hint ? (
        <div id={hintId} className={css.hint}>
          {hint}
        </div>
      ) : null}
    </div>
  );
}

/** The region is always there, so that what appears in it is read out. */
export function Problems({ id, problems }: { id: string; problems: readonly string[] }) {
  return (
    <div id={id} className={css.problems} aria-live="polite">
      {problems.map((problem) => (
        <p key={problem} className={css.problem}>
          <Icon name="alert" size={14} />
          <span>{problem}</span>
        </p>
      ))}
    </div>
  );
}

/** A native select with the page's styles. */
export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  return (
    <span className={classNames(controls.selectFrame, className)}>
      <select {...rest} className={controls.select}>
        {children}
      </select>
      <Icon name="chevronDown" />
    </span>
  );
}
