import { useId } from "react";
import display from "../display/display.module.css";
import css from "./controls.module.css";

interface Choice<T extends string> {
  value: T;
  words: string;
  count?: number;
  hint?: string;
}

interface Props<T extends string> {
  name: string;
  value: T;
  options: Choice<T>[];
  onChange: (value: T) => void;
}

/** A choice of a few, side by side: radio buttons with other styles. */
export function Choices<T extends string>({ name, value, options, onChange }: Props<T>) {
  const group = useId();
  return (
    <fieldset className={css.choices}>
      <legend className={display.unseen}>{name}</legend>
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
          {option.count === undefined ? null : <span className={css.count}>{option.count}</span>}
        </label>
      ))}
    </fieldset>
  );
}
