import type { ReactNode } from "react";
import { classNames } from "../class-names.ts";
import { Icon, type IconName } from "../display/Icon.tsx";
import css from "./Notice.module.css";

export type Tone = "good" | "bad" | "care" | "plain";

const icons: Record<Tone, IconName> = { good: "check", bad: "stop", care: "alert", plain: "info" };

interface Props {
  tone: Tone;
  title?: ReactNode;
  icon?: IconName;
  children?: ReactNode;
  /** Buttons, at the end of the notice. */
  actions?: ReactNode;
  /** It answers something that the admin just did: it is read out at once. */
  urgent?: boolean;
}

/** Something to know, beside the thing that it is about. */
export function Notice({ tone, title, icon = icons[tone], children, actions, urgent = false }: Props) {
  return (
    <div className={classNames(css.notice, css[tone])} role={urgent ? "alert" : undefined}>
      <span className={css.icon}>
        <Icon name={icon} />
      </span>
      <div className={css.text}>
        {title ? <p className={css.title}>{title}</p> : null}
        {children}
      </div>
      {actions ? <div className={css.actions}>{actions}</div> : null}
    </div>
  );
}
