// ---- an item, alone or beside another model's --------------------------------------------------

const itemDialog = byId("item");

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
    el("th", { scope: "row", className: "u" }, row.name), el("td", { className: "n muted" }, row.scale),
    several ? row.cells.map((cell) => el("td", { className: "n" }, cell)) : [],
    el("td", { className: "n strong" }, row.mean)));
  return el("div", { className: "scroll", role: "region", "aria-label": `Scores of ${item.model}`, tabIndex: 0 },
    el("table", { className: "scores" }, el("thead", {}, head), el("tbody", {}, body)));
}

function repeatBlock(item, repeat) {
  const title = item.repeats.length > 1 ? `Repeat ${repeat.number}` : "The judge's words";
  return el("section", { className: "repeat" },
    el("h3", {}, title, el("span", { className: "score" }, repeat.score), chip(repeat.state)),
    cause(repeat.reason, repeat.state),
    repeat.rationale ? untrusted(repeat.rationale, "p", "rationale") : "",
    repeat.flags.length ? el("p", { className: "tags" }, repeat.flags.map((flag) =>
      el("span", { className: "tag", title: flag.code }, icon("flag"), untrusted(flag.words)))) : "",
    repeat.repairs.length ? untrusted(`Mended: ${repeat.repairs.join(", ")}`, "p", "muted") : "",
    repeat.stop_reason ? el("p", { className: "muted" }, "Stop reason: ", untrusted(repeat.stop_reason, "code")) : "",
    verbatim("Raw reply", item.verbatim.replies[repeat.number]));
}

const RULES = { passed: ["passed", "met"], failed: ["failed", "not met"], not_supported: ["absent", "cannot be checked"], error: ["unscored", "error"] };

function rules(item) {
  if (!item.rules.length) return "";
  return el("section", { className: "notes rules" }, el("h3", {}, "Rules"),
    el("p", { className: "muted" }, "Checked without a judge; they are no part of the score."),
    el("ul", {}, item.rules.map((rule) => {
      const [state, text] = RULES[rule.outcome] || ["absent", rule.outcome];
      return el("li", {}, el("span", { className: `chip ${state}` }, icon(state), text),
        el("span", {}, untrusted(rule.name, "b"), rule.detail ? untrusted(` ${rule.detail}`, "span", "muted") : ""));
    })));
}

function facts(pairs) {
  return el("dl", { className: "facts" }, pairs.map(([label, value]) =>
    el("div", {}, untrusted(label, "dt"), untrusted(value, "dd"))));
}

function judgement(item) {
  return [
    cause(item.reason, item.state),
    item.rests_on ? el("p", { className: "muted" }, item.state === "absent" ? `Absent: ${item.rests_on}.` : `The score ${item.rests_on}.`) : "",
    item.flags.length ? el("p", { className: "tags" }, item.flags.map((flag) =>
      el("span", { className: "tag", title: flag.code }, icon("flag"), untrusted(flag.words)))) : "",
    scoreTable(item),
    item.repeats.map((repeat) => repeatBlock(item, repeat)),
    rules(item),
    item.labels.length ? el("section", {}, el("h3", {}, "Labels"), facts(item.labels)) : "",
    verbatim("Exact prompt", item.verbatim.prompt),
    item.identity.length ? el("details", {}, el("summary", {}, "Identity"), facts(item.identity)) : "",
  ];
}

// ---- the frame around it -----------------------------------------------------------------------

function step(name, title, href) {
  if (href === null) return el("span", { className: "step", "aria-disabled": "true" }, icon(name));
  return el("a", { className: "step", href, title, "aria-label": title }, icon(name));
}

function neighbours(item, other) {
  const pairs = sideBySide();
  const at = shown.findIndex((one) => (pairs ? one.at === item.at : one.index === item.index));
  const link = (place) => {
    const one = shown[place];
    if (at < 0 || !one) return null;
    if (!pairs) return address(one);
    const [a, b] = item.model === Number(valueOf("compare-b")) ? [one.b || one.a, one.b && one.a] : [one.a || one.b, one.a && one.b];
    return address(a, other !== null && b ? b.model : null);
  };
  return { at, of: shown.length, previous: link(at - 1), next: link(at + 1) };
}

const verdict = (item) => el("div", { className: "verdict" },
  el("span", { className: "score" }, el("b", {}, item.score),
    item.scale && item.score !== "–" ? el("span", { className: "muted" }, ` / ${item.scale}`) : ""),
  chip(item.state));

function header(item, heading, other, right = verdict(item)) {
  const near = neighbours(items[item.index], other);
  return el("header", {},
    el("div", { className: "heading" }, heading, el("h2", { id: "item-title", className: "u", tabIndex: -1 }, item.task_id)),
    right,
    el("nav", { "aria-label": "Items" },
      near.at >= 0 ? el("span", { className: "muted count" }, `${near.at + 1} of ${near.of}`) : "",
      step("previous", "Previous item (←)", near.previous), step("next", "Next item (→)", near.next),
      button("step", "Close (Esc)", "close", () => itemDialog.close())));
}

// The same task by other models: one click to theirs, one to both.
function others(item) {
  const rest = ofTask(items[item.index]).filter((one) => one.index !== item.index);
  if (!rest.length) return "";
  return el("section", { className: "others" }, el("h3", {}, "The same task by others"),
    el("ul", {}, rest.map((one) => el("li", {},
      el("a", { href: address(one) }, untrusted(page.models[one.model])),
      el("span", { className: "score" }, one.score), chip(one.state),
      el("a", { className: "beside", href: address(items[item.index], one.model) }, "Side by side")))));
}

function alone(item) {
  itemDialog.classList.remove("duel");
  itemDialog.replaceChildren(
    header(item, el("p", { className: "eyebrow" }, untrusted(item.model)), null),
    el("div", { className: "columns" },
      el("div", { className: "evidence", role: "region", "aria-label": "Evidence", tabIndex: 0 }, evidence(item)),
      el("div", { className: "judgement", role: "region", "aria-label": "Judgement", tabIndex: 0 }, judgement(item), others(item))));
}

function duelTable(a, b) {
  const names = [...new Set([...a.scores, ...b.scores].map((row) => row.name))];
  if (!names.length) return "";
  const find = (item, name) => item.scores.find((row) => row.name === name);
  const rows = names.map((name) => {
    const [one, two] = [find(a, name), find(b, name)];
    const known = one && two && one.value !== null && two.value !== null;
    const gap = known ? two.value - one.value : null;
    return { name, one, two, gap, kind: (one || two).kind, scale: (one || two).scale };
  });
  const cell = (row) => el("td", { className: "n" }, row ? row.mean : "–");
  return el("div", { className: "scroll", role: "region", "aria-label": "Scores of both", tabIndex: 0 },
    el("table", { className: "scores" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Criterion"), el("th", { scope: "col", className: "n" }, "Scale"),
        el("th", { scope: "col", className: "n u" }, a.model), el("th", { scope: "col", className: "n u" }, b.model), el("th", { scope: "col", className: "n" }, "Difference"))),
      el("tbody", {}, rows.map((row) => el("tr", { className: row.kind },
        el("th", { scope: "row", className: "u" }, row.name), el("td", { className: "n muted" }, row.scale), cell(row.one), cell(row.two),
        el("td", { className: `n strong ${row.gap > 0 ? "up" : row.gap < 0 ? "down" : ""}` }, row.gap === null ? "–" : signed(row.gap, 2)))))));
}

function duel(a, b) {
  itemDialog.classList.add("duel");
  const known = a.score_value !== null && b.score_value !== null;
  const pair = { a: items[a.index], b: items[b.index] };
  const flips = [a, b].every((one) => ["passed", "failed", "absent"].includes(one.state)) && (a.state === "passed") !== (b.state === "passed");
  const head = (item) => el("div", { className: "side-head" },
    el("h3", {}, el("a", { href: address(items[item.index]), className: "u" }, item.model)), verdict(item));
  const part = (name, item, ...content) => el("section", { className: "side", "aria-label": `${name}: ${item.model}` }, content);
  itemDialog.replaceChildren(
    header(a, el("p", { className: "eyebrow" }, "Side by side"), b.model, difference(known ? b.score_value - a.score_value : null, flips, pair)),
    el("div", { className: "duel-body", role: "region", "aria-label": "Both submissions", tabIndex: 0 },
      part("Evidence", a, head(a), evidence(a)), part("Evidence", b, head(b), evidence(b)),
      el("div", { className: "duel-table" }, duelTable(a, b)),
      part("Judgement", a, judgement({ ...a, scores: [] })), part("Judgement", b, judgement({ ...b, scores: [] }))));
}

let wanted = 0;
async function showItem(item, otherName) {
  const turn = ++wanted;
  const other = otherName === null ? null : ofTask(item).find((one) => page.models[one.model] === otherName && one !== item);
  const [story, second] = await Promise.all([storyOf(item.index), other ? storyOf(other.index) : null]);
  if (turn !== wanted) return; // another one was asked for meanwhile
  if (second) duel(story, second);
  else alone(story);
  if (!itemDialog.open) itemDialog.showModal();
  byId("item-title").focus({ preventScroll: true });
}

itemDialog.addEventListener("close", () => {
  const item = itemOfAddress();
  wanted += 1;
  if (!item) return;
  history.pushState(null, "", "#items");
  const node = cardOf(item.index) || (sideBySide() && cardOf((byTask.get(item.at) || []).find(Boolean).index));
  if (node) node.querySelector("a").focus();
});

itemDialog.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("pre, input, video, .scroll")) return;
  const titles = { ArrowLeft: "Previous", ArrowRight: "Next" };
  const link = event.key in titles && itemDialog.querySelector(`a.step[title^=${titles[event.key]}]`);
  if (link) link.click();
});
