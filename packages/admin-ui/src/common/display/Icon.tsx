import type { ReactNode } from "react";

const shapes = {
  alert: <path d="M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.55v.05" />,
  arrowLeft: <path d="M13 8H3.5M7 4 3 8l4 4" />,
  auto: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" fill="currentColor" />
    </>
  ),
  check: <path d="m3 8.5 3.3 3.3L13 5" />,
  chevronDown: <path d="m4 6 4 4 4-4" />,
  chevronRight: <path d="m6 4 4 4-4 4" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="5.75" />
      <path d="M8 4.8V8l2.2 1.6" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5v-1.5a1.5 1.5 0 0 0-1.5-1.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
    </>
  ),
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  info: (
    <>
      <circle cx="8" cy="8" r="5.75" />
      <path d="M8 7.5v3.3M8 5.15v.05" />
    </>
  ),
  key: (
    <>
      <circle cx="5.2" cy="10.8" r="2.7" />
      <path d="m7.2 8.8 6-6M11 5l2 2" />
    </>
  ),
  lock: (
    <>
      <rect x="3" y="7" width="10" height="6.5" rx="1.5" />
      <path d="M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2" />
    </>
  ),
  moon: <path d="M13.3 9.6A5.8 5.8 0 0 1 6.4 2.7a5.8 5.8 0 1 0 6.9 6.9Z" />,
  more: <path d="M3.5 8v.05M8 8v.05M12.5 8v.05" strokeWidth="2.2" />,
  offline: <path d="M2 2l12 12M4.3 11.9A3 3 0 0 1 4.6 6M6.6 4.3a4 4 0 0 1 5.1 3.2 2.5 2.5 0 0 1 1.4 4" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2" />,
  play: <path d="M5 3.3v9.4L12.6 8Z" />,
  plus: <path d="M8 3.2v9.6M3.2 8h9.6" />,
  retry: <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.8h-2.8" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  send: <path d="M14 2.2 7.3 9M14 2.2 9.8 13.8 7.3 9 2.2 6.5Z" />,
  settings: (
    <>
      <path d="M2.5 4.8h5M11.5 4.8h2M2.5 11.2h2M8.5 11.2h5" />
      <circle cx="9.5" cy="4.8" r="2" />
      <circle cx="6.5" cy="11.2" r="2" />
    </>
  ),
  stop: <path d="M5.4 1.9h5.2l3.5 3.5v5.2l-3.5 3.5H5.4l-3.5-3.5V5.4ZM5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
    </>
  ),
  trash: <path d="M2.5 4.3h11M6 4.3V2.6h4v1.7M3.9 4.3l.6 9.1h7l.6-9.1M6.7 7v3.7M9.3 7v3.7" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

/** A 16 px line drawing beside words that say the same: it is hidden from who listens. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {shapes[name]}
    </svg>
  );
}
