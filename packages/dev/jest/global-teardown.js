export { tearDown as default } from "../dist/harness/global-setup.js";
