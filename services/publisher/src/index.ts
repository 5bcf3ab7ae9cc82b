export { publisherSettings } from "./config.ts";
export { startPublisher } from "./start-publisher.ts";
