// The token is in the fragment, which never leaves the browser, and is taken out of the address before anything else.
const token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

const status = document.querySelector("[role=status]");
try {
  const response = await fetch("session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (response.ok) location.replace("integrations");
  else status.textContent = `Signing in failed: ${(await response.json()).detail}`;
} catch {
  status.textContent = "Signing in failed: the service can't be reached. Try the link again.";
}
