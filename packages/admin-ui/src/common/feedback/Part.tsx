import { Component, type ComponentType, lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../form/Button.tsx";
import { EmptyState, Skeleton } from "./LoadError.tsx";

/** A server that does not answer is asked again by hand. */
const ANSWER_MS = 10_000;

interface Props {
  /** As in "the chart". */
  what: string;
  level?: 1 | 2;
  load?: () => Promise<unknown>;
  onFailed?: () => unknown;
  children: ReactNode;
}

/** Confines a failure to one part of the page. In the part's place it says so, and offers another try. */
export class Boundary extends Component<Props, { failed: boolean }> {
  static getDerivedStateFromError = () => ({ failed: true });
  override state = { failed: false };
  again = () => this.setState({ failed: false });

  override componentDidCatch() {
    this.props.onFailed?.();
  }

  override render() {
    return this.state.failed ? <Failed {...this.props} again={this.again} /> : this.props.children;
  }
}

function Failed({ what, level = 2, load, again }: Omit<Props, "onFailed" | "children"> & { again: () => void }) {
  const [place] = useLocation();
  const [failedAt] = useState(place);
  useEffect(() => {
    if (place !== failedAt) again();
  }, [place, failedAt, again]);
  const tryAgain = async (): Promise<void> => {
    const own = document.querySelector("script[type=module]")?.getAttribute("src") ?? "";
    const given = { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) } as const;
    const response = await fetch(document.baseURI, given).catch(() => null);
    const isLoaded = await load?.().catch(() => false);
    // After an update the server has other files, and Firefox keeps a file's failure: both end when the page is loaded again.
    if (response?.ok && (isLoaded === false || !(await response.text()).includes(own))) location.reload();
    else again();
  };
  return (
    <EmptyState
      icon="alert"
      title={`Could not load ${what}`}
      level={level}
      action={
        <Button icon="retry" onClick={tryAgain}>
          Try again
        </Button>
      }
    >
      <p>The rest of the page still works, and what you have typed stays.</p>
    </EmptyState>
  );
}

const loads: (() => Promise<unknown>)[] = [];

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

export function part<P extends object>(what: string, load: Load<P>, level: 1 | 2 = 2) {
  loads.push(load);
  const newest = { Loaded: lazy(load) };
  // React keeps the failure of a lazy component for good, so the next try needs a new one.
  const renew = () => Object.assign(newest, { Loaded: lazy(load) });
  const Newest = (props: P) => <newest.Loaded {...props} />;
  return (props: P) => (
    <Boundary what={what} level={level} load={load} onFailed={renew}>
      <Suspense fallback={<Skeleton what={what} />}>
        <Newest {...props} />
      </Suspense>
    </Boundary>
  );
}

/** Loads all parts, one after another, so that they are there if the network or the build goes. A loaded part may add parts. */
export async function loadParts(): Promise<void> {
  for (const load of loads) await load().catch(() => {});
}
