import { useState } from "react";
import type { IconName } from "../common/display/Icon.tsx";
import { Button } from "../common/form/Button.tsx";
import { Menu } from "../common/overlay/Menu.tsx";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const KEY = "herald.theme";

/** The theme that was chosen in this browser; `auto` follows the system. Storage may be forbidden: then nothing is remembered. */
function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === stored) ?? "auto";
  } catch {
    return "auto";
  }
}

export function applyStoredTheme(): void {
  apply(storedTheme());
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const looks: Record<Theme, { name: string; icon: IconName }> = {
  auto: { name: "As the system", icon: "auto" },
  light: { name: "Light", icon: "sun" },
  dark: { name: "Dark", icon: "moon" },
};

export function ThemeMenu() {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (next: Theme): void => {
    setTheme(next);
    apply(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // It holds until the page is left.
    }
  };
  return (
    <Menu
      trigger={
        <Button kind="quiet" icon={looks[theme].icon} iconOnly>
          Appearance
        </Button>
      }
      items={THEMES.map((each) => ({ ...looks[each], current: each === theme, onSelect: () => choose(each) }))}
    />
  );
}
