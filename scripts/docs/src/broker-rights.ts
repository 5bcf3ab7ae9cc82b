import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { stringify } from "yaml";

/** A user of RabbitMQ, and what it may configure, write to and read from, as regular expressions. */
interface Rights {
  user: string;
  why: string;
  configure: string;
  write: string;
  read: string;
}

const FOLDER = "deploy/rabbitmq";
const SOURCE = `${FOLDER}/rights.json`;
const VHOST = "herald";
/** Of deploy/helm/examples/rabbitmq.yaml. */
const CLUSTER = { name: "herald-rabbitmq" };

/** The rights of {@link SOURCE} as a file for each kind of broker. */
export function brokerRightsFiles(): Record<string, string> {
  const rights = JSON.parse(readFileSync(join(projectFolder(), SOURCE), "utf8")) as Rights[];
  return {
    [`${FOLDER}/definitions.json`]: `${JSON.stringify(definitions(rights), null, 2)}\n`,
    [`${FOLDER}/topology-operator.yaml`]: topologyOperator(rights),
    [`${FOLDER}/management-api.sh`]: managementApi(rights),
  };
}

/** For `load_definitions` and `rabbitmqctl import_definitions`: a template, with a placeholder for each password's hash. */
function definitions(rights: readonly Rights[]) {
  return {
    vhosts: [{ name: VHOST }],
    users: rights.map(({ user }) => ({
      name: user,
      password_hash: `${user.toUpperCase()}_PASSWORD_HASH`,
      hashing_algorithm: "rabbit_password_hashing_sha256",
      tags: [],
    })),
    permissions: rights.map(({ user, configure, write, read }) => ({ user, vhost: VHOST, configure, write, read })),
  };
}

function topologyOperator(rights: readonly Rights[]): string {
  const resource = (kind: string, name: string, spec: object) => ({
    ...{ apiVersion: "rabbitmq.com/v1beta1", kind, metadata: { name: `herald-${name}` } },
    spec: { ...spec, rabbitmqClusterReference: CLUSTER },
  });
  const resources = [
    resource("Vhost", "vhost", { name: VHOST, defaultQueueType: "quorum" }),
    ...rights.flatMap(({ user, configure, write, read }) => [
      resource("User", `${user}-user`, { importCredentialsSecret: { name: `herald-broker-${user}` } }),
      resource("Permission", `${user}-rights`, {
        ...{ vhost: VHOST, userReference: { name: `herald-${user}-user` } },
        permissions: { configure, write, read },
      }),
    ]),
  ];
  const head = [
    `# RabbitMQ's users and their rights for the messaging topology operator. Made of ${SOURCE}.`,
    "# Each user's name and password are in a Secret, herald-broker-USER, as username and password: deploy/helm/examples/README.md makes them.",
  ];
  return `${head.join("\n")}\n${resources.map((each) => `---\n${stringify(each, { lineWidth: 0 })}`).join("")}`;
}

const passwordOf = (user: string) => `${user.toUpperCase()}_PASSWORD`;

/** For a hosted broker, which takes no file: the calls of RabbitMQ's management API. */
function managementApi(rights: readonly Rights[]): string {
  const settings = ["BROKER", "ADMIN_LOGIN", ...rights.map(({ user }) => passwordOf(user))];
  return `#!/bin/sh
# Makes Herald's users and their rights on a RabbitMQ that has its management API only, as hosted ones do. Made of ${SOURCE}.
# It can be run again: it then sets passwords and rights anew, and touches no queue.
#
#   BROKER           the management API, such as https://HOST
#   ADMIN_LOGIN      USER:PASSWORD of an administrator
#   VHOST            the virtual host (${VHOST}); made, unless VHOST_EXISTS is set
${rights.map(({ user, why }) => `#   ${passwordOf(user).padEnd(16)} ${why}`).join("\n")}
#
# Passwords have none of the characters " and \\.
set -eu
${settings.map((name) => `: "\${${name}:?}"`).join("\n")}
VHOST=\${VHOST:-${VHOST}}
case "$ADMIN_LOGIN${rights.map(({ user }) => `$${passwordOf(user)}`).join("")}" in
  *[\\"\\\\]*) echo 'A password has the character " or \\. Choose another one.' >&2; exit 2 ;;
esac

# By files and not by arguments, which everybody on this machine can read.
login=$(mktemp)
trap 'rm -f "$login"' EXIT
printf 'user = "%s"\\n' "$ADMIN_LOGIN" > "$login"

put() {
  curl --fail --silent --show-error --config "$login" --request PUT --header 'Content-Type: application/json' \\
    --data @- "$BROKER/api/$1"
}

[ -n "\${VHOST_EXISTS:-}" ] || echo '{}' | put "vhosts/$VHOST"
${rights
  .map(
    ({ user, configure, write, read }) => `
printf '{"password":"%s","tags":""}' "$${passwordOf(user)}" | put users/${user}
put "permissions/$VHOST/${user}" <<'RIGHTS'
${JSON.stringify({ configure, write, read })}
RIGHTS`,
  )
  .join("\n")}
`;
}
