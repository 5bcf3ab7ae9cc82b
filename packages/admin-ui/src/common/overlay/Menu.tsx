import { DropdownMenu } from "radix-ui";
import type { ReactElement } from "react";
import { classNames } from "../class-names.ts";
import { Icon, type IconName } from "../display/Icon.tsx";
import shared from "../shared.module.css";
import css from "./overlay.module.css";

export interface MenuItem {
  name: string;
  icon: IconName;
  onSelect: () => void;
  danger?: boolean;
  current?: boolean;
  disabledReason?: string | null | undefined;
}

/** A button, and the choices that it opens. `trigger` must be a single control that takes a ref. */
export function Menu({ trigger, items }: { trigger: ReactElement; items: MenuItem[] }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Content className={css.menu} align="end" sideOffset={6} collisionPadding={8}>
        {items.map((item) => (
          <DropdownMenu.Item
            key={item.name}
            className={classNames(shared.iconed, css.item, item.danger && css.danger)}
            aria-disabled={item.disabledReason ? true : undefined}
            aria-current={item.current || undefined}
            onSelect={(event) => {
              if (item.disabledReason) event.preventDefault();
              else item.onSelect();
            }}
          >
            <Icon name={item.icon} />
            <span>
              {item.name}
              {item.disabledReason ? (
                <small className={classNames(shared.faint, css.reason)}>{item.disabledReason}</small>
              ) : null}
            </span>
            {item.current ? (
              <span className={css.check}>
                <Icon name="check" />
              </span>
            ) : null}
          </DropdownMenu.Item>
        ))}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}
