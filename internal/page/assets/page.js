// The page works without this script. It keeps the page fresh, counts down, and takes keys.
"use strict";
(() => {
  const settle = 500; // ms in which no answer counts after the calls changed
  const title = document.title.replace(/^\(\d+\) /, "");
  let shownAt = performance.now(), last = null, late = false;

  const cards = () => [...document.querySelectorAll("[data-held]")];
  const now = () => document.querySelector("[data-now]") || cards()[0];
  const mark = (card) => {
    document.querySelectorAll("[data-now]").forEach((c) => c.removeAttribute("data-now"));
    if (card) card.setAttribute("data-now", "");
  };
  const typing = () => {
    const e = document.activeElement;
    return Boolean(e && e.matches("input:not([type=hidden]), select, textarea") && (e.value || e.matches(":focus")));
  };

  const countDown = () => {
    for (const t of document.querySelectorAll("[data-due]")) {
      const left = Math.max(0, Math.round((new Date(t.dateTime) - Date.now()) / 1000));
      const h = Math.floor(left / 3600), m = Math.floor(left / 60) % 60, s = String(left % 60).padStart(2, "0");
      t.textContent = "in " + (h ? h + ":" + String(m).padStart(2, "0") : m) + ":" + s;
      t.parentElement.classList.toggle("soon", left < 60);
    }
  };

  // refresh replaces the part of the page that is live by a fresh one of the server.
  const refresh = async () => {
    if (typing() || document.querySelector("[data-live] details[open]")) { late = true; return; }
    late = false;
    const answer = await fetch(location.pathname === "/page/decide" ? "/" : location.href, { credentials: "same-origin", redirect: "error" });
    if (answer.status === 401) { location.reload(); return; }
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
    const old = document.querySelector("[data-live]");
    if (!fresh || !old || typing()) return;
    const focus = document.activeElement && document.activeElement.closest("[id]");
    const id = focus ? focus.id : "", marked = document.querySelector("[data-now]");
    old.replaceWith(fresh);
    shownAt = performance.now();
    if (marked) mark(document.getElementById(marked.id));
    const again = id && id !== "main" && document.getElementById(id);
    if (again) again.focus({ preventScroll: true });
    mark(now());
    countDown();
  };

  const say = (text) => { const e = document.getElementById("link"); if (e && e.textContent !== text) e.textContent = text; };

  const notice = (n) => {
    document.title = (n ? "(" + n + ") " : "") + title;
    const count = document.getElementById("count");
    if (count) { count.textContent = n; count.hidden = !n; }
  };

  const listen = (path) => {
    const events = new EventSource(path);
    events.addEventListener("look", (e) => {
      const is = JSON.parse(e.data), live = document.querySelector("[data-live]");
      say("Connected: this page is fresh");
      notice(is.waiting);
      if (live && last && is[live.dataset.live] !== last[live.dataset.live]) refresh();
      if (last && is.waiting > last.waiting && document.hidden && window.Notification && Notification.permission === "granted") {
        new Notification("Sallyport: a call waits for you", { tag: "sallyport" });
      }
      last = is;
    });
    events.onerror = () => say("Not connected: what is shown may be old");
  };

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || typing() || e.target.closest("button, a, summary")) return;
    const all = cards(), at = all.indexOf(now());
    if (at < 0) return;
    if (e.key === "j" || e.key === "k") {
      const next = all[Math.min(Math.max(at + (e.key === "j" ? 1 : -1), 0), all.length - 1)];
      mark(next);
      next.focus();
      return;
    }
    const answer = { y: "once", n: "refuse" }[e.key];
    const button = answer && all[at].querySelector(`button[value=${answer}]`);
    if (!button || performance.now() - shownAt < settle) return;
    e.preventDefault();
    button.click();
  });
  document.addEventListener("focusin", (e) => {
    const card = e.target.closest && e.target.closest("[data-held]");
    if (card) mark(card);
  });
  document.addEventListener("focusout", () => setTimeout(() => { if (late) refresh(); }, 200));
  document.addEventListener("toggle", () => { if (late) refresh(); }, true);
  // One answer for each form: a second press must not answer for the next call.
  document.addEventListener("submit", (e) => {
    if (e.target.dataset.sent || (e.target.matches(".decide") && performance.now() - shownAt < settle)) e.preventDefault();
    else e.target.dataset.sent = "1";
  });
  const ask = document.getElementById("notify");
  if (ask && window.Notification && Notification.permission === "default") {
    ask.hidden = false;
    ask.addEventListener("click", () => Notification.requestPermission().then(() => { ask.hidden = true; }));
  }

  mark(now());
  countDown();
  setInterval(countDown, 1000);
  if (document.body.dataset.events) listen(document.body.dataset.events);
})();
