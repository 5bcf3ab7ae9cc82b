import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fillOnce, localFolder } from "./folders.ts";
import { findProgram, runProgram, succeeds } from "./programs.ts";

/** The versions that tests can run on. `installed` is the machine's own. */
export const RABBITMQ_VERSIONS = ["installed", "4"] as const;

export type RabbitmqVersion = (typeof RABBITMQ_VERSIONS)[number];

/** The version that RABBITMQ_VERSION asks for. 4 is unpacked beside the installed one. @throws where tests can't have it */
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

/** The release of Debian that packages RabbitMQ 4. */
const SUITE = "trixie";

/** RabbitMQ, and what its start script is interpreted by. */
const PACKAGES = ["rabbitmq-server", "dash", "coreutils", "sed", "grep", "mawk"];

const PROGRAMS = {
  "rabbitmq-server": "/usr/lib/rabbitmq/bin/rabbitmq-server",
  rabbitmqctl: "/usr/lib/rabbitmq/bin/rabbitmqctl",
  epmd: "/usr/bin/epmd",
};

const FETCH_TIMEOUT_MS = 10 * 60_000;

/**
 * Erlang and RabbitMQ stand at fixed places, and want a newer libc than the machine may have. Each program gets the /usr that
 * it is made for; the mount is in a namespace of that process, so that no other process sees it and nothing is left of it.
 * The rest, the node's folder too, is the machine's. Every step is an `exec`: the process that was started is the node.
 */
const wrapper = (program: string): string => `#!/bin/sh
usr=$(cd "$(dirname "$0")/.." && pwd)/usr
[ "$(id -u)" = 0 ] || user=--map-root-user
exec unshare $user --mount --propagation private /bin/sh -c \\
  'usr=$1; shift; mount --bind "$usr" /usr && exec "$@"' sh "$usr" ${program} "$@"
`;

/** The start script of the unpacked RabbitMQ 4, undefined if there is none yet. Its other programs are beside it. */
export function findRabbitmq4(): string | undefined {
  const server = join(rabbitmq4Folder(), "bin", "rabbitmq-server");
  return existsSync(server) ? server : undefined;
}

/**
 * The start script of a RabbitMQ 4 beside an installed one: Debian's packages, unpacked into the local folder by whichever run comes first.
 * Nothing is installed. Takes about ten seconds and 180 MB. @throws one message that says what this machine lacks and what to do
 */
export async function findOrUnpackRabbitmq4(): Promise<string> {
  const found = findRabbitmq4();
  if (found !== undefined) return found;
  try {
    await assertPossible();
    await fillOnce(rabbitmq4Folder(), () => findRabbitmq4() !== undefined, unpack);
  } catch (error) {
    throw new Error(
      `RABBITMQ_VERSION=4 can't be had here. ${(error as Error).message}\n` +
        "Run this on Debian 12 or newer, as root or where users may have namespaces of their own (a container has to allow mounts: " +
        "docker run --privileged), or start a RabbitMQ 4 of your own, and set AMQP_URL to it and no RABBITMQ_VERSION.",
      { cause: error },
    );
  }
  return findRabbitmq4() as string;
}

function rabbitmq4Folder(): string {
  return join(localFolder(), "rabbitmq-programs", "4");
}

async function assertPossible(): Promise<void> {
  for (const program of ["apt-get", "dpkg-deb", "unshare"]) {
    if (findProgram(program) === undefined) throw new Error(`There is no ${program}.`);
  }
  if (resolve(localFolder()).startsWith("/usr/"))
    throw new Error(`${localFolder()} is in /usr, which RabbitMQ 4 would not see.`);
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const mounts = ["--mount", "--propagation", "private", "mount", "--bind", "/usr", "/usr"];
  if (!(await succeeds("unshare", [...user, ...mounts]))) throw new Error("This process may not mount a folder.");
}

async function unpack(folder: string): Promise<void> {
  const archives = await fetchPackages(join(folder, "apt"));
  for (const archive of archives) {
    await runProgram("dpkg-deb", ["-x", archive, folder], { what: "Unpacking RabbitMQ 4" });
  }
  rmSync(join(folder, "apt"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  for (const [name, program] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, "bin", name), wrapper(program), { mode: 0o755 });
  }
}

/** The archives of RabbitMQ 4 and of all that it depends on, by an apt that believes that nothing is installed. */
async function fetchPackages(folder: string): Promise<string[]> {
  const archives = join(folder, "cache", "archives");
  for (const each of [join(folder, "lists", "partial"), join(archives, "partial")])
    mkdirSync(each, { recursive: true });
  writeFileSync(join(folder, "status"), "");
  writeFileSync(
    join(folder, "debian.sources"),
    [
      "Types: deb",
      `URIs: ${await debianMirror()}`,
      `Suites: ${SUITE}`,
      "Components: main",
      "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
    ].join("\n"),
  );
  const configuration = join(folder, "apt.conf");
  writeFileSync(
    configuration,
    [
      `Dir::State "${folder}";`,
      `Dir::State::status "${join(folder, "status")}";`,
      `Dir::Cache "${join(folder, "cache")}";`,
      `Dir::Etc::sourcelist "${join(folder, "debian.sources")}";`,
      'Dir::Etc::sourceparts "-";',
      'APT::Install-Recommends "false";',
      // The user that it would be otherwise can't write into this folder.
      'APT::Sandbox::User "root";\n',
    ].join("\n"),
  );
  const run = (...args: string[]) =>
    runProgram("apt-get", ["-q", "-y", ...args], {
      what: `Fetching RabbitMQ 4 from Debian ${SUITE}`,
      env: { ...process.env, APT_CONFIG: configuration },
      timeoutMs: FETCH_TIMEOUT_MS,
    });
  await run("update");
  await run("--download-only", "install", ...PACKAGES);
  return readdirSync(archives)
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

/** Where this machine has its own release of Debian from. */
async function debianMirror(): Promise<string> {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  if (!/^ID=debian$/m.test(release)) throw new Error("It is unpacked from Debian's packages, and this is no Debian.");
  const codename = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1];
  // Without what the lists say, which a new machine does not have yet.
  const listed = await runProgram(
    "apt-get",
    ["indextargets", "--no-release-info", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Identifier: Packages"],
    { what: "Reading apt's sources" },
  );
  const own = listed.split("\n").map((line) => line.split(" "));
  const mirror = own.find(([suite, component]) => suite === codename && component === "main")?.[2];
  if (mirror === undefined) throw new Error(`apt's sources name no mirror that has main of Debian ${codename}.`);
  return mirror;
}
