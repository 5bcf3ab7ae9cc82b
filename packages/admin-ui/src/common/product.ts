import type { PageProduct } from "@herald/contracts";

const OWN: PageProduct = { name: "Herald", accent: null, hasLogo: false, signOutUrl: null };

/** The product that the server wrote into the page. Vite's server writes none, and unit tests have no page: then it is Herald. */
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
