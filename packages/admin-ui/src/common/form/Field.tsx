import { type ComponentProps, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";
import { classNames } from "../class-names.ts";
import { Icon } from "../display/Icon.tsx";
import shared from "../shared.module.css";
import css from "./form.module.css";

interface FieldAttributes {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  problems?: readonly string[];
  children: (attributes: FieldAttributes) => ReactNode;
}

/** A control with its label, a hint, and what is wrong with it right beside it. */
export function Field({ label, hint, problems = [], children }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  const problemId = `${id}-problem`;
  const describedBy = [hint ? hintId : "", problems.length > 0 ? problemId : ""].filter(Boolean).join(" ");
  return (
    <div className={css.field}>
      <label htmlFor={id} className={classNames(shared.small, shared.strong)}>
        {label}
      </label>
      {children({ id, "aria-describedby": describedBy || undefined, "aria-invalid": problems.length > 0 || undefined })}
      <Problems id={problemId} problems={problems} />
      {hint ? (
        <div id={hintId} className={shared.note}>
          {hint}
        </div>
      ) : null}
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, "children">, Omit<ComponentProps<"input">, "onChange"> {
  value: string;
  onChange: (value: string) => void;
  mono?: boolean;
}

export function TextField({ label, hint, problems = [], mono = false, onChange, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} problems={problems}>
      {(attributes) => (
        <input
          {...attributes}
          {...rest}
          className={classNames(css.input, mono && css.mono)}
          onChange={({ target }) => onChange(target.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </Field>
  );
}

/** The region is always there, so that what appears in it is read out. */
export function Problems({ id, problems }: { id: string; problems: readonly string[] }) {
  return (
    <div id={id} className={shared.region} aria-live="polite">
      {problems.map((problem) => (
        <p key={problem} className={classNames(shared.iconed, css.problem)}>
          <Icon name="alert" size={14} />
          <span>{problem}</span>
        </p>
      ))}
    </div>
  );
}

export function Select({ children, ...rest }: ComponentProps<"select">) {
  return (
    <span className={css.selectFrame}>
      <select {...rest} className={css.select}>
        {children}
      </select>
      <Icon name="chevronDown" />
    </span>
  );
}

interface Choice<T extends string> {
  value: T;
  words: string;
  count?: number;
  hint?: string;
}

interface ChoicesProps<T extends string> {
  name: string;
  value: T;
  options: Choice<T>[];
  onChange: (value: T) => void;
}

/** Shows the chosen one of a line that scrolls sideways in a narrow window. */
export function useInSight(line: RefObject<HTMLElement | null>, chosen: string): void {
  useEffect(() => {
    const one = line.current?.querySelector<HTMLElement>("[aria-current], :has(:checked)");
    line.current?.scrollTo({ left: one ? one.offsetLeft - line.current.clientWidth / 3 : 0 });
  }, [line, chosen]);
}

/** A choice of a few, side by side: radio buttons with other styles. */
export function Choices<T extends string>({ name, value, options, onChange }: ChoicesProps<T>) {
  const group = useId();
  const line = useRef<HTMLFieldSetElement>(null);
  useInSight(line, value);
  return (
    <fieldset ref={line} className={css.choices}>
      <legend className={shared.unseen}>{name}</legend>
      {options.map((option) => (
        <label key={option.value} className={css.choice} data-hint={option.hint}>
          <input
            type="radio"
            name={group}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.words}</span>
          {option.count === undefined ? null : <span className={shared.faint}>{option.count}</span>}
        </label>
      ))}
    </fieldset>
  );
}
