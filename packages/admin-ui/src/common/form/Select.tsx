import type { ComponentProps } from "react";
import { classNames } from "../class-names.ts";
import { Icon } from "../display/Icon.tsx";
import controls from "./controls.module.css";

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
