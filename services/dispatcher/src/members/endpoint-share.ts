/** What one dispatcher has of the attempts that an endpoint may have at once. */
export interface Share {
  count: number;
  /** It is the first of the dispatchers for this endpoint: where one attempt is allowed, it makes it. */
  first: boolean;
}

/** Endpoints whose share is remembered: with many dispatchers it takes a moment to find. */
const MAX_REMEMBERED = 10_000;

/**
 * Shares out each endpoint's attempts among dispatchers. For each endpoint the dispatchers have an order of their own, by a
 * hash of both (rendezvous hashing). In that order the `cap` attempts are dealt out one by one, like cards. So every dispatcher finds
 * the same without asking the others, the shares make up the cap, and a dispatcher that comes or goes changes little.
 *
 * Another member never makes a share larger. So dispatchers that know of different others stay within the cap, as long as each of
 * them knows all those that attempt.
 *
 * @param members the ids of all dispatchers, `own` among them
 */
export function shareOut(members: readonly string[], own: string, cap: number): (endpointId: string) => Share {
  if (members.length === 1) {
    const all: Share = { count: cap, first: true };
    return () => all;
  }
  const others = members.filter((id) => id !== own).map((id) => ({ id, hash: hashOf(id) }));
  const ownHash = hashOf(own);
  const remembered = new Map<string, Share>();

  function find(endpointId: string): Share {
    const endpoint = hashOf(endpointId);
    const score = mixed(endpoint ^ ownHash);
    let before = 0;
    for (const { id, hash } of others) {
      const theirs = mixed(endpoint ^ hash);
      if (theirs < score || (theirs === score && id < own)) before++;
    }
    return { count: Math.max(0, Math.ceil((cap - before) / members.length)), first: before === 0 };
  }

  return (endpointId) => {
    const known = remembered.get(endpointId);
    if (known !== undefined) return known;
    const share = find(endpointId);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(endpointId, share);
    return share;
  };
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** The last steps of MurmurHash3: each bit of the input changes half of the output's. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
