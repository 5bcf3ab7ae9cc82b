import type { ReactNode } from "react";
import { Icon, type IconName } from "../display/Icon.tsx";
import css from "./feedback.module.css";

interface Props {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** It stands for the whole page. */
  level?: 1 | 2;
}

/** Where there is nothing to show: what that means, and the next step. */
export function EmptyState({ icon, title, children, action, level = 2 }: Props) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div className={css.empty}>
      <span className={css.icon}>
        <Icon name={icon} size={22} />
      </span>
      <Heading className={css.title}>{title}</Heading>
      <div className={css.text}>{children}</div>
      {action ? <div className={css.action}>{action}</div> : null}
    </div>
  );
}
