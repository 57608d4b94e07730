// Asks how far the long work is, and shows it; the page is loaded anew when the work has ended.
"use strict";

(function () {
  const line = document.getElementById("progress");
  const bar = document.getElementById("bar");
  if (!line || !bar) {
    return;
  }
  let shown = 0;

  async function look() {
    const reply = await fetch("/progress.json", { cache: "no-store" });
    if (!reply.ok) {
      throw new Error("no reply");
    }
    const now = await reply.json();
    if (now.state !== "running" && !now.running) {
      location.reload();
      return;
    }
    if (now.of > 0) {
      bar.max = now.of;
      bar.value = now.done;
    } else {
      bar.removeAttribute("value");
    }
    // The line that a screen reader reads changes every ten seconds, not every second.
    if (Date.now() - shown >= 10000) {
      shown = Date.now();
      line.textContent = now.step + ": " + now.done + (now.of > 0 ? " of " + now.of : "");
    }
    setTimeout(look_again, 1000);
  }

  function look_again() {
    look().catch(function () { setTimeout(look_again, 5000); });
  }

  setTimeout(look_again, 1000);
})();
