import {
  Check,
  ChevronDown,
  Clock,
  Contrast,
  Copy,
  Ellipsis,
  Info,
  KeyRound,
  Lock,
  type LucideIcon,
  Moon,
  OctagonX,
  Pause,
  Play,
  Plus,
  RotateCw,
  Search,
  Send,
  SlidersHorizontal,
  Sun,
  Trash2,
  TriangleAlert,
  WifiOff,
  X,
} from "lucide-react";

/** The page's icons, by what they stand for. */
const icons = {
  alert: TriangleAlert,
  auto: Contrast,
  check: Check,
  chevronDown: ChevronDown,
  clock: Clock,
  copy: Copy,
  cross: X,
  info: Info,
  key: KeyRound,
  lock: Lock,
  moon: Moon,
  more: Ellipsis,
  offline: WifiOff,
  pause: Pause,
  play: Play,
  plus: Plus,
  retry: RotateCw,
  search: Search,
  send: Send,
  settings: SlidersHorizontal,
  stop: OctagonX,
  sun: Sun,
  trash: Trash2,
} satisfies Record<string, LucideIcon>;

export type IconName = keyof typeof icons;

/** An icon beside words that say the same, so screen readers skip it. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const Shape = icons[name];
  return <Shape size={size} strokeWidth={2.25} aria-hidden focusable={false} />;
}
