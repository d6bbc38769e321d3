// Elements, and the texts of values. Nothing here or elsewhere parses a string as HTML: text from
// a log becomes text nodes only.
"use strict";
const page = {};

(function () {
  // Controls, invisible and direction characters, and lone surrogates are shown by their codes.
  const HIDDEN =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Surrogate}/gu;

  page.printable = (text) =>
    String(text).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

  // h("a", {class: "x", href: "#y", onclick: f}, child, "text") returns an element.
  page.h = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined) element.append(child);
    }
    return element;
  };

  // Text that may be broken after each dot; a token that is too long is broken anywhere (style.css).
  page.breakable = (element, text) => {
    const parts = page.printable(text).split(/(?<=[./])/);
    parts.forEach((part, i) => element.append(...(i ? [document.createElement("wbr"), part] : [part])));
    return element;
  };

  // A subject; the token in which it differs from the nearest pattern is marked.
  page.subject = (text, differs) => {
    const found = page.h("code", { dir: "ltr" });
    if (differs === null || differs === undefined) return page.breakable(found, text);
    const tokens = text.split(".");
    if (differs >= tokens.length) return page.breakable(found, text);
    if (differs) page.breakable(found, `${tokens.slice(0, differs).join(".")}.`).append(document.createElement("wbr"));
    found.append(page.h("mark", {}, page.printable(tokens[differs])));
    if (differs + 1 < tokens.length) page.breakable(found, `.${tokens.slice(differs + 1).join(".")}`);
    return found;
  };

  page.count = (value) => (value ?? 0).toLocaleString("en-US");

  page.plural = (value, one, many = `${one}s`) => `${page.count(value)} ${value === 1 ? one : many}`;

  page.bytes = (value) => {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let i = 0;
    for (; value >= 1000 && i < units.length - 1; i++) value /= 1000;
    return `${i && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[i]}`;
  };

  // Times are ISO 8601; the date is left out where the whole log is of one day.
  page.time = (text) => {
    if (!text) return "–";
    const [day, clock] = text.replace("Z", "").split("T");
    return page.oneDay === day ? clock.slice(0, 12) : `${day} ${clock.slice(0, 8)}`;
  };

  page.span = (first, last) => {
    if (!first && !last) return "";
    const [from, to] = [page.time(first), page.time(last)];
    return from === to ? from : `${from} – ${to}`;
  };

  page.duration = (seconds) =>
    [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]].reduce(([words, left], [unit, size]) =>
      [left >= size ? [...words, `${Math.floor(left / size)} ${unit}`] : words, left % size], [[], seconds])[0].join(" ");

  page.value = (value, kind) => {
    if (value === null || value === undefined) return "–";
    if (kind === "time") return page.time(value);
    if (kind === "count") return page.count(value);
    if (kind === "bytes") return page.bytes(value);
    if (kind === "share") return `${(100 * value).toFixed(1)} %`;
    if (kind === "microseconds") return `${(value / 1000).toLocaleString("en-US")} ms`;
    if (typeof value === "boolean") return value ? "yes" : "no";
    return page.printable(value);
  };

  const toast = () => document.getElementById("status");

  // The clipboard needs a secure context; a page from a file may not be one.
  page.copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = page.h("textarea", { class: "offscreen", "aria-hidden": "true", tabindex: "-1" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    page.copied = text;
    toast().textContent = `${what} copied`;
    toast().classList.add("shown");
    clearTimeout(page.fading);
    page.fading = setTimeout(() => toast().classList.remove("shown"), 2000);
  };

  page.copyButton = (label, text, what = label) =>
    page.h("button", { type: "button", class: "quiet", onclick: () => page.copy(text(), what) }, label);

  // Spreadsheets run cells that begin with one of = + - @ as formulas, so those get an apostrophe.
  page.csv = (rows) =>
    rows
      .map((row) =>
        row
          .map((value) => {
            let text = value === null || value === undefined ? "" : String(value);
            if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
            return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
          })
          .join(","),
      )
      .join("\r\n") + "\r\n";
})();
