import type { IconName } from "../common/display/Icon.tsx";
import { Button } from "../common/form/Button.tsx";
import { Menu } from "../common/overlay/Menu.tsx";
import { THEMES, type Theme, useTheme } from "./theme.ts";

const looks: Record<Theme, { name: string; icon: IconName }> = {
  auto: { name: "As the system", icon: "auto" },
  light: { name: "Light", icon: "sun" },
  dark: { name: "Dark", icon: "moon" },
};

export function ThemeMenu() {
  const [theme, setTheme] = useTheme();
  return (
    <Menu
      trigger={
        <Button kind="quiet" icon={looks[theme].icon} iconOnly>
          Appearance
        </Button>
      }
      items={THEMES.map((each) => ({ ...looks[each], current: each === theme, onSelect: () => setTheme(each) }))}
    />
  );
}
