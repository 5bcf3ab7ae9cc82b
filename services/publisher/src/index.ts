export { startPublisher } from "./start-publisher.ts";
