// Jest looks for this file even where no test needs it, and does not compile it: so it is JavaScript, and stands outside
// of what is built.
export { default } from "../dist/harness/global-setup.js";
