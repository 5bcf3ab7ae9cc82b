import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./app/tokens.css";
import "./app/global.css";
import { App } from "./app/App.tsx";
import { applyStoredTheme } from "./app/theme.tsx";
import { applyAccent } from "./common/product.ts";

applyStoredTheme();
applyAccent();

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
