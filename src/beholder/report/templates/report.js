// The page is whole without this script; it adds filtering, sorting, an item's story and the zoom.
// Text from tasks, files and judges goes through textContent and attributes only, never through markup.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const gallery = byId("gallery");
  const cards = [...gallery.children];
  const itemDialog = byId("item");
  const zoomDialog = byId("zoom");
  const SVG = "http://www.w3.org/2000/svg";

  // ---- building elements ----------------------------------------------------------------------

  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) {
      if (value === null || value === undefined || value === false) continue;
      if (key in node && key !== "list") node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== ""));
    return node;
  }

  function icon(name) {
    const svg = document.createElementNS(SVG, "svg");
    const use = document.createElementNS(SVG, "use");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#icon-${name}`);
    svg.append(use);
    return svg;
  }

  const STATES = { passed: "Passed", failed: "Failed", scored: "Scored", absent: "Absent", unscored: "Unscored" };

  function chip(state) {
    return el("span", { className: `chip ${state}` }, icon(state), STATES[state] || state);
  }

  const untrusted = (text, tag = "span", className = "") =>
    el(tag, { className: `u ${className}`.trim() }, text);

  // ---- the gallery ----------------------------------------------------------------------------

  const itemOf = (card) => JSON.parse(byId(`${card.id.slice(0, -"-card".length)}-data`).textContent);

  // Built at the first search: cards hold little, the rationales are in the data blocks.
  let index = null;
  function searchText(card) {
    index ||= new Map(cards.map((one) => {
      const item = itemOf(one);
      const notes = [...item.flags, ...item.warnings, ...item.not_shown, item.reason].filter(Boolean);
      return [one, [
        item.task_id, item.model, item.state,
        ...item.labels.flat(),
        ...notes.flatMap((note) => [note.code, note.words, note.detail, note.source]),
        ...item.files.map((file) => file.source),
        ...item.repeats.flatMap((repeat) => [repeat.rationale, repeat.reason ? repeat.reason.code : ""]),
      ].join("\n").toLowerCase()];
    }));
    return index.get(card);
  }

  function visibleCards() {
    return [...gallery.children].filter((card) => !card.hidden);
  }

  function filter() {
    const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const model = byId("by-model") ? byId("by-model").value : "";
    const states = new Set([...document.querySelectorAll("[name=state]:checked")].map((box) => box.value));
    let shown = 0;
    for (const card of cards) {
      const keep = states.has(card.dataset.state)
        && (model === "" || card.dataset.model === model)
        && words.every((word) => searchText(card).includes(word));
      card.hidden = !keep;
      if (keep) shown += 1;
    }
    const all = cards.length;
    byId("shown").textContent = shown === all ? `${all} items` : `${shown} of ${all} items`;
    byId("nothing").hidden = shown > 0;
  }

  const number = (card, key) => Number(card.dataset[key]);
  const inOrder = (first, second) => (a, b) =>
    number(a, first) - number(b, first) || number(a, second) - number(b, second);
  // What has no score stands last in either direction: it is neither low nor high.
  const byScore = (sign) => (a, b) =>
    (a.dataset.score === "") - (b.dataset.score === "")
    || sign * (number(a, "score") - number(b, "score"))
    || inOrder("task", "model")(a, b);
  const ORDERS = {
    task: inOrder("task", "model"),
    model: inOrder("model", "task"),
    low: byScore(1),
    high: byScore(-1),
  };

  function sort() {
    gallery.append(...[...cards].sort(ORDERS[byId("sort").value]));
  }

  function reset() {
    byId("tools").reset();
    sort();
    filter();
    byId("find").focus();
  }

  // ---- an item --------------------------------------------------------------------------------

  function pictureFigure(item, picture, position) {
    const caption = el("figcaption", {},
      untrusted(picture.caption),
      ` · ${picture.width_px} × ${picture.height_px} px`,
      picture.sha256 ? el("span", { className: "digest", title: `sha256 ${picture.sha256}` }, picture.sha256.slice(0, 12)) : "");
    if (picture.url === null) {
      return el("figure", {}, el("p", { className: "gone" }, "The picture's file is not beside this report."), caption);
    }
    const image = el("img", {
      loading: "lazy", decoding: "async", width: picture.width_px, height: picture.height_px, alt: picture.caption,
    });
    image.src = picture.url;
    const button = el("button", { type: "button", className: "picture", title: "Show at full size" }, image);
    button.addEventListener("click", () => zoom(item, position));
    return el("figure", {}, button, caption);
  }

  function notes(title, list, name) {
    if (!list.length) return "";
    return el("section", { className: "notes" },
      el("h3", {}, title),
      el("ul", {}, list.map((note) => el("li", {},
        icon(name),
        el("span", {},
          note.source ? untrusted(note.source, "b") : "", note.source && note.words ? ": " : "",
          untrusted(note.words), note.detail ? untrusted(` ${note.detail}`, "span", "muted") : "",
          note.code && note.code !== note.words ? el("code", {}, note.code) : "")))));
  }

  function files(item) {
    if (!item.files.length) return "";
    return el("details", {},
      el("summary", {}, `Files of the submission (${item.files.length})`),
      el("ul", { className: "files" }, item.files.map((file) => el("li", {},
        untrusted(file.source, "b"), " ", untrusted(file.words, "span", "muted"),
        file.detail ? untrusted(` ${file.detail}`, "span", "muted") : ""))));
  }

  function cause(reason, state) {
    if (!reason) return "";
    return el("div", { className: `cause ${state}` },
      el("p", {}, untrusted(reason.words, "b"), el("code", {}, reason.code)),
      reason.detail ? untrusted(reason.detail, "p", "muted") : "");
  }

  function scoreTable(item) {
    if (!item.scores.length) return "";
    const several = item.repeats.length > 1;
    const head = el("tr", {}, el("th", { scope: "col" }, "Criterion"), el("th", { scope: "col", className: "n" }, "Scale"),
      several ? item.repeats.map((repeat) => el("th", { scope: "col", className: "n" }, el("span", { className: "word" }, "Repeat "), String(repeat.number))) : [],
      el("th", { scope: "col", className: "n" }, several ? "Mean" : "Score"));
    const body = item.scores.map((row) => el("tr", { className: row.kind },
      untrusted(row.name, "th"), el("td", { className: "n muted" }, row.scale),
      several ? row.cells.map((cell) => el("td", { className: "n" }, cell)) : [],
      el("td", { className: "n strong" }, row.mean)));
    return el("div", { className: "scroll", role: "region", "aria-label": "Scores", tabIndex: 0 },
      el("table", { className: "scores" }, el("thead", {}, head), el("tbody", {}, body)));
  }

  function verbatim(title, text) {
    if (!text) return "";
    const cut = text.cut ? `${text.cut} more characters are in the file.` : "";
    return el("details", {},
      el("summary", {}, title),
      el("pre", { className: "u", tabIndex: 0 }, text.text),
      el("p", { className: "muted" }, cut, cut ? " " : "", el("a", { href: text.url }, "Open the file")));
  }

  function repeatBlock(repeat, several) {
    const title = several ? `Repeat ${repeat.number}` : "The judge's words";
    return el("section", { className: "repeat" },
      el("h3", {}, title, el("span", { className: "score" }, repeat.score), chip(repeat.state)),
      cause(repeat.reason, repeat.state),
      repeat.rationale ? untrusted(repeat.rationale, "p", "rationale") : "",
      repeat.flags.length ? el("p", { className: "tags" }, repeat.flags.map((flag) =>
        el("span", { className: "tag" }, icon("flag"), untrusted(flag.words)))) : "",
      repeat.repairs.length ? untrusted(`Mended: ${repeat.repairs.join(", ")}`, "p", "muted") : "",
      repeat.stop_reason ? el("p", { className: "muted" }, "Stop reason: ", untrusted(repeat.stop_reason, "code")) : "",
      verbatim("Raw reply", repeat.reply));
  }

  function rules(item) {
    if (!item.rules.length) return "";
    return el("section", { className: "notes" }, el("h3", {}, "Rules"),
      el("ul", {}, item.rules.map((rule) => el("li", {}, untrusted(rule.name, "b"), ": ",
        untrusted(rule.outcome), rule.detail ? untrusted(` ${rule.detail}`, "span", "muted") : ""))));
  }

  function facts(pairs) {
    return el("dl", { className: "facts" }, pairs.map(([label, value]) =>
      el("div", {}, untrusted(label, "dt"), untrusted(value, "dd"))));
  }

  function step(name, title, id) {
    if (id === null) return el("span", { className: "step", "aria-disabled": "true" }, icon(name));
    return el("a", { className: "step", href: `#${id}`, title, "aria-label": title }, icon(name));
  }

  function neighbours(item) {
    const shown = visibleCards().map((card) => card.id.slice(0, -"-card".length));
    const at = shown.indexOf(item.id);
    return { at, of: shown.length, previous: at > 0 ? shown[at - 1] : null, next: at >= 0 && at < shown.length - 1 ? shown[at + 1] : null };
  }

  function showItem(item) {
    const near = neighbours(item);
    const close = el("button", { type: "button", className: "step", "aria-label": "Close", title: "Close (Esc)" }, icon("close"));
    close.addEventListener("click", () => itemDialog.close());
    const several = item.repeats.length > 1;
    const noPicture = item.route === "text" ? "Judged on text; what was sent is in the prompt." : "No picture was sent to the judge.";
    itemDialog.replaceChildren(
      el("header", {},
        el("div", { className: "heading" },
          el("p", { className: "eyebrow" }, untrusted(item.model)),
          el("h2", { id: "item-title", className: "u", tabIndex: -1 }, item.task_id)),
        el("div", { className: "verdict" },
          el("span", { className: "score" }, el("b", {}, item.score), item.scale && item.score !== "–" ? el("span", { className: "muted" }, ` / ${item.scale}`) : ""),
          chip(item.state)),
        el("nav", { "aria-label": "Items" },
          near.at >= 0 ? el("span", { className: "muted count" }, `${near.at + 1} of ${near.of}`) : "",
          step("previous", "Previous item (←)", near.previous), step("next", "Next item (→)", near.next), close)),
      el("div", { className: "columns" },
        el("div", { className: "evidence", role: "region", "aria-label": "Evidence", tabIndex: 0 },
          item.pictures.length
            ? item.pictures.map((picture, position) => pictureFigure(item, picture, position))
            : el("p", { className: "gone" }, noPicture),
          notes("Warnings", item.warnings, "warning"),
          notes("Not shown to the judge", item.not_shown, "absent"),
          files(item)),
        el("div", { className: "judgement", role: "region", "aria-label": "Judgement", tabIndex: 0 },
          cause(item.reason, item.state),
          item.spread ? el("p", { className: "muted" }, item.state === "absent" ? `Absent: ${item.spread}.` : `The score ${item.spread}.`) : "",
          item.flags.length ? el("p", { className: "tags" }, item.flags.map((flag) =>
            el("span", { className: "tag", title: flag.code }, icon("flag"), untrusted(flag.words)))) : "",
          scoreTable(item),
          item.repeats.map((repeat) => repeatBlock(repeat, several)),
          rules(item),
          item.labels.length ? el("section", {}, el("h3", {}, "Labels"), facts(item.labels)) : "",
          verbatim("Exact prompt", item.prompt),
          item.identity.length ? el("details", {}, el("summary", {}, "Identity"), facts(item.identity)) : "")));
    if (!itemDialog.open) itemDialog.showModal();
    byId("item-title").focus({ preventScroll: true });
  }

  // An item's address is the page's fragment: it can be linked, and Back closes it.
  function route() {
    const data = byId(`${decodeURIComponent(location.hash.slice(1))}-data`);
    if (data) showItem(JSON.parse(data.textContent));
    else if (itemDialog.open) itemDialog.close();
  }

  itemDialog.addEventListener("close", () => {
    const card = byId(`${location.hash.slice(1)}-card`);
    if (!card) return;
    history.pushState(null, "", "#items");
    card.querySelector("a").focus();
  });

  itemDialog.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("pre, input")) return;
    const titles = { ArrowLeft: "Previous", ArrowRight: "Next" };
    const link = event.key in titles && itemDialog.querySelector(`a.step[title^=${titles[event.key]}]`);
    if (link) link.click();
  });

  // ---- the zoom -------------------------------------------------------------------------------

  const STEPS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4];

  function zoom(item, first) {
    let position = first;
    let factor = null; // null: as large as the window allows
    const image = el("img", {});
    const stage = el("div", { className: "stage", tabIndex: 0 }, image);
    const label = el("span", { className: "u caption" });
    const level = el("output", {});
    const button = (text, title, act) => {
      const sign = text.length === 1; // a word or a ratio names itself
      const made = el("button", { type: "button", title, "aria-label": sign && title }, text);
      made.addEventListener("click", act);
      return made;
    };

    const fitting = () => Math.min(1, stage.clientWidth / image.naturalWidth, stage.clientHeight / image.naturalHeight);

    function draw() {
      const shown = factor ?? fitting();
      if (!Number.isFinite(shown)) return; // not loaded yet: its load event draws
      image.style.width = `${image.naturalWidth * shown}px`;
      level.textContent = `${Math.round(100 * shown)}%`;
      stage.classList.toggle("fits", factor === null);
    }

    function load(next) {
      if (!item.pictures[next] || item.pictures[next].url === null) return;
      position = next;
      factor = null;
      const picture = item.pictures[position];
      image.alt = picture.caption;
      image.src = picture.url;
      label.textContent = picture.caption;
      stage.scrollTo(0, 0);
      draw();
    }

    function scaleTo(next) {
      const before = factor ?? fitting();
      factor = next;
      const [x, y] = [stage.scrollLeft + stage.clientWidth / 2, stage.scrollTop + stage.clientHeight / 2];
      draw();
      stage.scrollTo(x * next / before - stage.clientWidth / 2, y * next / before - stage.clientHeight / 2);
    }

    const larger = () => scaleTo(STEPS.find((one) => one > (factor ?? fitting()) + 0.001) ?? STEPS.at(-1));
    const smaller = () => scaleTo(STEPS.findLast((one) => one < (factor ?? fitting()) - 0.001) ?? STEPS[0]);
    const fit = () => { factor = null; draw(); };
    const full = () => scaleTo(1);
    const KEYS = {
      "+": larger, "=": larger, "-": smaller, "0": fit, "1": full,
      PageDown: () => load(position + 1), PageUp: () => load(position - 1),
    };

    image.addEventListener("load", draw);
    image.addEventListener("click", () => (factor === null && fitting() < 1 ? full() : fit()));
    const close = el("button", { type: "button", className: "step", "aria-label": "Close", title: "Close (Esc)" }, icon("close"));
    close.addEventListener("click", () => zoomDialog.close());
    const many = item.pictures.length > 1;
    zoomDialog.replaceChildren(
      el("header", {}, label,
        el("nav", { "aria-label": "Zoom" },
          many ? button("‹", "Previous image (Page Up)", KEYS.PageUp) : "",
          many ? button("›", "Next image (Page Down)", KEYS.PageDown) : "",
          button("−", "Smaller (-)", smaller), level, button("+", "Larger (+)", larger),
          button("Fit", "Fit the window (0)", fit), button("1:1", "Full size (1)", full), close)),
      stage);
    zoomDialog.onkeydown = (event) => {
      const act = KEYS[event.key];
      if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    };
    window.onresize = draw;
    zoomDialog.showModal();
    load(position);
    stage.focus();
  }

  // ---- wiring ---------------------------------------------------------------------------------

  byId("tools").hidden = false;
  byId("no-script").hidden = true;
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("tools").addEventListener("input", filter);
  byId("sort").addEventListener("change", sort);
  byId("reset").addEventListener("click", reset);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || itemDialog.open || event.target.closest("input, select")) return;
    event.preventDefault();
    byId("find").focus();
  });
  window.addEventListener("hashchange", route);
  // A browser may bring a form back as it was left.
  sort();
  filter();
  route();
})();
