import type { PageProduct } from "@herald/contracts";

const OWN: PageProduct = { name: "Herald", accent: null, hasLogo: false };

/** What the server wrote into the page; Herald's own looks where it wrote nothing (the server of development), or there is no page (unit tests). */
function readProduct(): PageProduct {
  if (typeof document === "undefined") return OWN;
  const written = document.querySelector<HTMLMetaElement>('meta[name="product"]')?.content;
  return written ? (JSON.parse(written) as PageProduct) : OWN;
}

export const product = readProduct();

/** The stylesheet makes all shades of the accent from this one, each as dark or light as can be read. */
export function applyAccent(): void {
  if (product.accent === null) return;
  document.documentElement.style.setProperty("--accent", product.accent);
  document.documentElement.dataset.accent = "";
}
