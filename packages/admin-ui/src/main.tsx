import "./app/global.css";
import { isUuid } from "@herald/contracts";
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Route, Router, Switch } from "wouter";
import { addressesFrom } from "./api/client.ts";
import { filtersFromSearch } from "./api/filters.ts";
import { deliveriesQuery, overviewQuery, sessionQuery, webhookQuery } from "./api/queries.ts";
import { Shell } from "./app/Shell.tsx";
import { surviveTranslation } from "./app/translation.ts";
import { NotAllowed, NotFound, NotLoaded } from "./common/feedback/LoadError.tsx";
import { Boundary, loadParts, part } from "./common/feedback/Part.tsx";
import { Hint } from "./common/overlay/Hint.tsx";
import { applyAccent } from "./common/product.ts";
import { SessionContext } from "./common/session.tsx";
import { RevealedSecret } from "./scenes/webhook/RevealedSecret.tsx";
import { WebhookList } from "./scenes/webhook/WebhookList.tsx";

const AllChanges = part("the changes", () => import("./scenes/changes/Changes.tsx"), 1);
const AllDeliveries = part("the deliveries", () => import("./scenes/deliveries/Deliveries.tsx"), 1);
const Events = part("the events", () => import("./scenes/events/Events.tsx"), 1);
const NewWebhook = part("the form", () => import("./scenes/webhook/WebhookForm.tsx"), 1);
const EventPage = part("the event", () => import("./scenes/events/EventPage.tsx"), 1);
const Search = part("the search", () => import("./scenes/events/Search.tsx"), 1);
const WebhookPage = part("the webhook", () => import("./scenes/webhook/WebhookPage.tsx"), 1);

const client = new QueryClient({
  defaultOptions: {
    // Every query on the page is repeated after a few seconds: that is the retry.
    queries: { retry: false, staleTime: 1_000, networkMode: "always" },
    mutations: { retry: false, networkMode: "always" },
  },
});

/** By then the first scene has its code and its data. */
const LOAD_PARTS_AFTER_MS = 2_000;

const { router } = addressesFrom(document.baseURI);

prefetch(client, location.pathname.slice(router.length), location.search);

function App() {
  return (
    <QueryClientProvider client={client}>
      <Router base={router}>
        <Shell>
          <SessionGate>
            <RevealedSecret>
              <Boundary what="this page" level={1}>
                <Switch>
                  <Route path="/" component={WebhookList} />
                  <Route path="/search" component={Search} />
                  <Route path="/events" component={Events} />
                  <Route path="/deliveries" component={AllDeliveries} />
                  <Route path="/changes" component={AllChanges} />
                  <Route path="/events/:key">{(params) => <EventPage key={params.key} id={params.key ?? ""} />}</Route>
                  <Route path="/webhooks/new" component={NewWebhook} />
                  <Route path="/webhooks/:id/*?">
                    {(params) => <WebhookPage key={params.id} id={params.id ?? ""} place={params["*"] ?? ""} />}
                  </Route>
                  <Route component={NotFound} />
                </Switch>
              </Boundary>
            </RevealedSecret>
          </SessionGate>
        </Shell>
        <Hint />
      </Router>
    </QueryClientProvider>
  );
}

function SessionGate({ children }: { children: ReactNode }) {
  const { data, error } = useQuery(sessionQuery);
  if (data?.mayView) return <SessionContext value={data}>{children}</SessionContext>;
  if (data) return <NotAllowed missing={data.missing} />;
  return <NotLoaded error={error} what="your session" level={1} />;
}

/** Asks at once for what the first scene needs, rather than one answer after the other: the session decides only what is shown. */
function prefetch(client: QueryClient, place: string, search: string): void {
  void client.prefetchQuery(sessionQuery);
  if (place === "" || place === "/") void client.prefetchQuery(overviewQuery);
  const id = /^\/webhooks\/([^/]+)/.exec(place)?.[1];
  if (!isUuid(id)) return;
  void client.prefetchQuery(webhookQuery(id));
  void client.prefetchInfiniteQuery(deliveriesQuery(id, filtersFromSearch(new URLSearchParams(search), "webhook")));
  void import("./scenes/webhook/WebhookPage.tsx").catch(() => {});
}

applyAccent();
surviveTranslation();
addEventListener("load", () => setTimeout(loadParts, LOAD_PARTS_AFTER_MS));

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
