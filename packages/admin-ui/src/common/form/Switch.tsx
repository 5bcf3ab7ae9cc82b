import { Switch as Radix } from "radix-ui";
import { type ReactNode, useId } from "react";
import css from "./Switch.module.css";

interface Props {
  label: string;
  hint: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export function Switch({ label, hint, checked, onChange, disabled = false }: Props) {
  const id = useId();
  return (
    <div className={css.line}>
      <Radix.Root
        id={id}
        className={css.track}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-describedby={`${id}-hint`}
      >
        <Radix.Thumb className={css.thumb} />
      </Radix.Root>
      <div>
        <label htmlFor={id} className={css.label}>
          {label}
        </label>
        <div id={`${id}-hint`} className={css.hint}>
          {hint}
        </div>
      </div>
    </div>
  );
}
