/** The most memory that `herald serve` may take in a small installation, in MiB. A test holds it to this, and the documents promise it. */
export const SERVE_MEBIBYTES = 200;
