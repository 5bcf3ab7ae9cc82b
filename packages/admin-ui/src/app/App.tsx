import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Route, Router, Switch } from "wouter";
import { addressesFrom } from "../api/addresses.ts";
import { Skeleton } from "../common/feedback/Skeleton.tsx";
import { Hint } from "../common/overlay/Hint.tsx";
import { NotFound } from "../scenes/not-found/NotFound.tsx";
import { RevealedSecret } from "../scenes/webhook-form/RevealedSecret.tsx";
import { WebhookList } from "../scenes/webhook-list/WebhookList.tsx";
import { ConnectionBanner } from "./ConnectionBanner.tsx";
import { prefetch } from "./prefetch.ts";
import { SessionGate } from "./SessionGate.tsx";
import { Shell } from "./Shell.tsx";

const NewWebhook = lazy(() => import("../scenes/webhook-form/NewWebhook.tsx"));
const EventPage = lazy(() => import("../scenes/event/EventPage.tsx"));
const Search = lazy(() => import("../scenes/search/Search.tsx"));
const WebhookPage = lazy(() => import("../scenes/webhook/WebhookPage.tsx"));

const client = new QueryClient({
  defaultOptions: {
    // Every query on the page is repeated after a few seconds: that is the retry.
    queries: { retry: false, staleTime: 1_000, networkMode: "always" },
    mutations: { retry: false, networkMode: "always" },
  },
});

const { router } = addressesFrom(document.baseURI);

prefetch(client, location.pathname.slice(router.length), location.search);

export function App() {
  return (
    <QueryClientProvider client={client}>
      <Router base={router}>
        <Shell banner={<ConnectionBanner />}>
          <SessionGate>
            <RevealedSecret>
              <Suspense fallback={<Skeleton rows={6} what="the page" />}>
                <Switch>
                  <Route path="/" component={WebhookList} />
                  <Route path="/search" component={Search} />
                  <Route path="/events/:key">{(params) => <EventPage key={params.key} id={params.key ?? ""} />}</Route>
                  <Route path="/webhooks/new" component={NewWebhook} />
                  <Route path="/webhooks/:id/*?">
                    {(params) => <WebhookPage key={params.id} id={params.id ?? ""} place={params["*"] ?? ""} />}
                  </Route>
                  <Route component={NotFound} />
                </Switch>
              </Suspense>
            </RevealedSecret>
          </SessionGate>
        </Shell>
        <Hint />
      </Router>
    </QueryClientProvider>
  );
}
