// Runs before any script of the page, in every frame. $REPORT is the name of a function that the browser
// gives us; the page never sees it. $SEED is a number, $HOLD the name of an event that only we know.
(() => {
  "use strict";
  const report = globalThis[$REPORT];
  delete globalThis[$REPORT];
  // Plain text: the page may have given JSON and the methods of strings another meaning.
  const tell = (kind, text) => { if (report) report(kind + " " + text); };
  const define = (object, name, value) =>
    Object.defineProperty(object, name, { value, configurable: true, writable: true });

  // The clock follows the page's virtual time. A loop that waits by polling the clock inside one task would
  // never end, for virtual time stands still there: after a thousand looks it moves on by 1 ms a look.
  const RealDate = Date;
  const realNow = RealDate.now.bind(RealDate);
  let last = 0, looks = 0, skew = 0;
  const now = () => {
    const t = realNow();
    if (t !== last) { last = t; looks = 0; } else if (++looks > 1000) { skew += 1; }
    return t + skew;
  };
  const start = now();
  const FixedDate = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length ? args : [now()], newTarget),
  });
  define(RealDate, "now", function () { return now(); });
  define(RealDate.prototype, "constructor", FixedDate);
  define(globalThis, "Date", FixedDate);
  // Real elapsed time would differ by some milliseconds from run to run.
  define(Performance.prototype, "now", function () { return now() - start; });
  // Frames: 60 a second of virtual time, so that what is drawn frame by frame gets as far each time. The
  // browser's own frames come by the wall clock, and there is hardly any while 3 s of page time pass.
  if (globalThis.window) {
    let frames = new Map(), lastFrame = 0, due = false;
    const later = globalThis.setTimeout;
    const tick = () => {
      const batch = frames, t = now() - start;
      frames = new Map();
      due = false;
      for (const f of batch.values()) {
        try { f(t); } catch (e) { reportError(e); }
      }
    };
    define(globalThis, "requestAnimationFrame", function requestAnimationFrame(f) {
      if (typeof f !== "function") throw new TypeError("not a function");
      frames.set(++lastFrame, f);
      if (!due) { due = true; later(tick, 16); }
      return lastFrame;
    });
    define(globalThis, "cancelAnimationFrame", function cancelAnimationFrame(id) { frames.delete(id); });
  }

  // Chance: mulberry32 (Tommy Ettinger, public domain), one stream for each source.
  const stream = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const chance = stream($SEED), bytes = stream($SEED + 1);
  define(Math, "random", function random() { return chance(); });
  if (globalThis.Crypto) {
    define(Crypto.prototype, "getRandomValues", function (array) {
      const view = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < view.length; i++) view[i] = bytes() * 256;
      return array;
    });
    define(Crypto.prototype, "randomUUID", function () {
      const hex = Array.from({ length: 32 }, () => ((bytes() * 16) | 0).toString(16));
      hex[12] = "4"; hex[16] = "89ab"[(bytes() * 4) | 0];
      return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    });
  }

  // Ways around the proxy, and windows that nobody looks at.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport",
    "SharedWorker"]) delete globalThis[name];
  if (globalThis.WebSocket) {
    const refused = function (socket) {
      setTimeout(() => {
        socket.readyState = 3;
        for (const e of [new Event("error"), new CloseEvent("close", { code: 1006 })]) {
          const handler = socket["on" + e.type];
          if (typeof handler === "function") handler.call(socket, e);
          socket.dispatchEvent(e);
        }
      }, 0);
    };
    class ClosedSocket extends EventTarget {
      constructor(url) {
        super();
        this.url = new URL(url, location.href).href;
        this.readyState = 0;
        this.bufferedAmount = 0;
        this.protocol = this.extensions = "";
        this.binaryType = "blob";
        tell("socket", this.url);
        refused(this);
      }
      send() { if (this.readyState === 0) throw new DOMException("still connecting", "InvalidStateError"); }
      close() {}
    }
    ["CONNECTING", "OPEN", "CLOSING", "CLOSED"].forEach((name, i) => {
      define(ClosedSocket, name, i); define(ClosedSocket.prototype, name, i);
    });
    define(ClosedSocket, "name", "WebSocket");
    define(globalThis, "WebSocket", ClosedSocket);
  }
  if (globalThis.ServiceWorkerContainer) {
    define(ServiceWorkerContainer.prototype, "register", function () {
      return Promise.reject(new DOMException("service workers are off", "SecurityError"));
    });
  }
  if (globalThis.window) define(globalThis, "print", function () {});

  // Sound and video play by the wall's clock: as moving pictures do, they stand at their start.
  if (globalThis.window) {
    let stopped = 0;
    // Not at "play": what asked for it would be told that it failed.
    addEventListener("playing", (e) => {
      const media = e.target;
      if (!(media instanceof HTMLMediaElement) || ++stopped > 200) return;
      media.pause();
      if (media.currentTime) media.currentTime = 0;
    }, true);
  }

  // In a new tab there is nothing to go back to; here there is the blank page that the tab began with.
  if (globalThis.window && globalThis.navigation) {
    const { back, go } = History.prototype, entries = globalThis.navigation;
    const there = (steps) => steps >= 0 || (entries.currentEntry ? entries.currentEntry.index : 0) + steps >= 0;
    define(History.prototype, "back", function () { if (there(-1)) back.call(this); });
    define(History.prototype, "go", function (steps) { if (there(steps | 0)) go.call(this, steps | 0); });
  }

  // Held once, the page is not told that a part of it leaves the view; held twice, nor that it scrolls.
  if (globalThis.window) {
    let held = 0;
    addEventListener($HOLD, () => { held = (held + 1) % 3; }, true);
    addEventListener("scroll", (e) => { if (held === 2) e.stopImmediatePropagation(); }, true);
    const Observer = globalThis.IntersectionObserver;
    const construct = (target, [callback, ...rest], newTarget) => {
      const been = new WeakSet();
      const told = function (entries, observer) {
        const kept = [];
        for (const entry of entries) {
          if (entry.isIntersecting) been.add(entry.target);
          if (entry.isIntersecting || !held || !been.has(entry.target)) kept.push(entry);
        }
        if (kept.length) Reflect.apply(callback, this, [kept, observer]);
      };
      const given = typeof callback === "function" ? told : callback;
      return Reflect.construct(target, [given, ...rest], newTarget);
    };
    define(globalThis, "IntersectionObserver", new Proxy(Observer, { construct }));
    define(Observer.prototype, "constructor", globalThis.IntersectionObserver);
  }
})();
