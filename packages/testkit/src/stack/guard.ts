import { type ChildProcess, spawn } from "node:child_process";

/**
 * A shell that outlives this process by a moment and ends what it has left behind, also where this process was ended with
 * `kill -9` and could not do so itself. It learns of that from its standard input, which then ends.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
groups=' '
while read -r what group signal; do
  case $what in
    add) groups="$groups$group:$signal " ;;
    drop) groups=$(printf '%s' "$groups" | sed "s/ $group:[A-Z0-9]* / /") ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
for entry in $groups; do kill -"\${entry#*:}" -"\${entry%:*}" 2>/dev/null; done
sleep 5
for entry in $groups; do kill -KILL -"\${entry%:*}" 2>/dev/null; done
`;

let guard: ChildProcess | undefined;

/** Has a process group ended with the given signal when this process is gone. */
export function guardGroup(group: number, signal: NodeJS.Signals): void {
  guard ??= startGuard();
  guard.stdin?.write(`add ${group} ${signal.replace("SIG", "")}\n`);
}

/** The group has ended: its number may soon belong to another. */
export function releaseGroup(group: number): void {
  guard?.stdin?.write(`drop ${group}\n`);
}

function startGuard(): ChildProcess {
  const child = spawn("/bin/sh", ["-c", SCRIPT], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Nothing here waits for the guard, and without one this still works, but for kill -9.
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}
