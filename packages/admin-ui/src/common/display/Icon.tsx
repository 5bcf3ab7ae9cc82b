import * as icons from "./icons.ts";

export type IconName = keyof typeof icons;

/** An icon beside words that say the same, so screen readers skip it. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  // biome-ignore lint/performance/noDynamicNamespaceImportAccess: each icon there is used
  const Shape = icons[name];
  return <Shape size={size} strokeWidth={2.25} aria-hidden focusable={false} />;
}
