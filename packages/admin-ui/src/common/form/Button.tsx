import { useQueryClient } from "@tanstack/react-query";
import { type ComponentProps, type MouseEvent, type ReactNode, useId } from "react";
import { Link } from "wouter";
import { classNames } from "../class-names.ts";
import { Icon, type IconName } from "../display/Icon.tsx";
import shared from "../shared.module.css";
import css from "./form.module.css";

interface Look {
  kind?: "primary" | "secondary" | "quiet" | "danger";
  icon?: IconName | undefined;
  /** Only the icon shows. The children are its name for screen readers. */
  iconOnly?: boolean;
}

interface ButtonProps extends Look, Omit<ComponentProps<"button">, "disabled"> {
  /** Why it can't be used now. It stays focusable, so that the reason can be read. */
  disabledReason?: string | null | undefined;
  busy?: boolean;
}

export function Button({
  kind = "secondary",
  icon,
  iconOnly = false,
  disabledReason,
  busy = false,
  className,
  children,
  onClick,
  type = "button",
  ...rest
}: ButtonProps) {
  const reasonId = useId();
  const off = Boolean(disabledReason) || busy;
  const press = (event: MouseEvent<HTMLButtonElement>): void => {
    if (off) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <>
      <button
        {...rest}
        type={type}
        className={classNames(css.button, css[kind], iconOnly && css.iconOnly, className)}
        aria-disabled={off || undefined}
        aria-busy={busy || undefined}
        aria-describedby={disabledReason ? reasonId : rest["aria-describedby"]}
        data-hint={disabledReason || (iconOnly && typeof children === "string" ? children : undefined)}
        onClick={press}
      >
        <Face icon={busy ? "retry" : icon} iconOnly={iconOnly}>
          {children}
        </Face>
      </button>
      {disabledReason ? (
        <span id={reasonId} hidden>
          {disabledReason}
        </span>
      ) : null}
    </>
  );
}

type ButtonLinkProps = Look & { href: string; onClick?: () => unknown; children: ReactNode };

export function ButtonLink({ kind = "secondary", icon, children, ...link }: ButtonLinkProps) {
  return (
    <Link {...link} className={classNames(css.button, css[kind])}>
      <Face icon={icon} iconOnly={false}>
        {children}
      </Face>
    </Link>
  );
}

export function RefetchButton({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  return (
    <Button icon="retry" onClick={() => void client.refetchQueries({ type: "active" })}>
      {children}
    </Button>
  );
}

export function ReloadButton({ children = "Load the page again" }: { children?: ReactNode }) {
  return <Button onClick={() => location.reload()}>{children}</Button>;
}

function Face({ icon, iconOnly, children }: { icon: IconName | undefined; iconOnly: boolean; children: ReactNode }) {
  return (
    <>
      {icon ? <Icon name={icon} /> : null}
      <span className={iconOnly ? shared.unseen : undefined}>{children}</span>
    </>
  );
}
