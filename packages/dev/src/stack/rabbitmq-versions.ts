/** What tests can run on. `installed` is whichever that is, or one in Docker where none is. */
export const RABBITMQ_VERSIONS = ["installed", "3.10", "4"] as const;

export type RabbitmqVersion = (typeof RABBITMQ_VERSIONS)[number];

/**
 * The version that RABBITMQ_VERSION asks for. 3.10 is Debian's, and has to be the installed one; 4 is unpacked beside it.
 *
 * @throws where tests can't have it
 */
export function rabbitmqVersion(): RabbitmqVersion {
  const asked = process.env.RABBITMQ_VERSION || "installed";
  const version = RABBITMQ_VERSIONS.find((each) => each === asked);
  if (version !== undefined) return version;
  const known = RABBITMQ_VERSIONS.join(", ");
  throw new Error(`RABBITMQ_VERSION is "${asked}". It can be one of ${known}; without it, it is installed.`);
}

/** The name of a folder that a broker of another version must not share: `rabbitmq`, and `rabbitmq-4` for 4. */
export function apartByRabbitmqVersion(name: string): string {
  return rabbitmqVersion() === "4" ? `${name}-4` : name;
}
