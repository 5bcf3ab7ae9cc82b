/** What leaves this repository: the image's parts, and what others install. All else is for development. */
export const SHIPPED = [
  "@herald/management-api",
  "@herald/publisher",
  "@herald/dispatcher",
  "@herald/maintenance",
  "@herald/emitter",
  "@herald/receiver",
] as const;

/** The page is shipped as what vite makes of it: these packages, and what they need, are inside. */
export const PAGE = "@herald/admin-ui";
export const IN_PAGE = ["@tanstack/react-query", "radix-ui", "react", "react-dom", "uplot", "wouter"] as const;
