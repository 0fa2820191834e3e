// ---- an item's evidence: pictures, videos, texts, and what was not shown -----------------------

const GONE = "The file is not beside this report.";

const digest = (sha256) => (sha256
  ? el("span", { className: "digest", title: `sha256 ${sha256}` }, sha256.slice(0, 12)) : "");

function pictureFigure(item, picture, position) {
  const caption = el("figcaption", {}, untrusted(picture.caption), ` · ${picture.width_px} × ${picture.height_px} px`, digest(picture.sha256));
  if (picture.url === null) return el("figure", {}, el("p", { className: "gone" }, GONE), caption);
  const image = el("img", {
    loading: "lazy", decoding: "async", width: picture.width_px, height: picture.height_px, alt: picture.caption,
  });
  image.src = picture.url;
  const open = el("button", { type: "button", className: "picture", title: "Show at full size" }, image);
  open.addEventListener("click", () => zoom(item, position));
  return el("figure", {}, open, caption);
}

function videoFigure(video) {
  const caption = el("figcaption", {}, untrusted(video.caption), digest(video.sha256));
  if (video.url === null) return el("figure", {}, el("p", { className: "gone" }, GONE), caption);
  return el("figure", {}, el("video", { controls: true, preload: "metadata", src: video.url, "aria-label": video.caption }), caption);
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

function verbatim(title, text, open = false) {
  if (!text) return "";
  const cut = text.cut ? `${text.cut.toLocaleString("en")} more characters are in the file.` : "";
  return el("details", { open },
    el("summary", {}, untrusted(title)),
    el("pre", { className: "u", tabIndex: 0 }, text.text),
    cut || text.url ? el("p", { className: "muted" }, cut, cut ? " " : "", text.url ? el("a", { href: text.url }, "Open the file") : "") : "");
}

function evidence(item) {
  const shownTexts = item.verbatim.shown;
  const nothing = item.route === "text" ? "No text is stored; what was sent is in the prompt." : "No picture was sent to the judge.";
  return [
    item.pictures.map((picture, position) => pictureFigure(item, picture, position)),
    item.videos.map(videoFigure),
    shownTexts.map((text) => verbatim(text.title, text, true)),
    item.pictures.length || item.videos.length || shownTexts.length ? "" : el("p", { className: "gone" }, nothing),
    notes("Warnings", item.warnings, "warning"),
    notes("Not shown to the judge", item.not_shown, "absent"),
    files(item),
  ];
}
