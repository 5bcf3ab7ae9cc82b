/** How the admin page looks like the product that it belongs to. The management API writes it into the page, by its settings. */
export interface PageProduct {
  /** What the page calls the service that sends. */
  name: string;
  /** Where the link back to the product leads; null where there is none. */
  url: string | null;
  /** A colour as #1a73e8; null for the page's own. */
  accent: string | null;
  /** Whether `logo`, beside the page, is the product's. */
  hasLogo: boolean;
}
