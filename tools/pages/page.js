"use strict";
// The slider through the steps of each rung, and the links between the lines of its texts. The page is complete without
// this script: it then shows the last step.
(() => {
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  const table = data("lines"), labels = data("labels");
  const keywords = new Set(("for in block where init sum unrolled if else not and or out inout auto let const select " +
    "kernel true false barrier sync of return float int unsigned bool void extern while struct static volatile long " +
    "double").split(" "));
  const hardware = /^(blockIdx|threadIdx)\b|^__|^(shared|local|global|warp)$/;

  const element = (tag, css, text) => {
    const made = document.createElement(tag);
    if (css) made.className = css;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const textOf = (id) => typeof table.lines[id] === "string" ? table.lines[id] : table.lines[id][0];
  const keysOf = (id) => typeof table.lines[id] === "string" ? [] : table.lines[id].slice(1);

  // The lines after the first `count` scripts, which tools/pages/differences.h describes. A line is its indentation, its
  // index in the table, and its mark in the last step: "added", "removed" or none.
  function replay(scripts, count) {
    let lines = [];
    for (const script of scripts.slice(0, count)) {
      const before = lines.filter((line) => line[2] !== "removed");
      lines = [];
      let at = 0;
      const take = (number, shift, mark) => {
        for (const [indent, id] of before.slice(at, at + number)) lines.push([indent + shift, id, mark]);
        at += number;
      };
      for (const op of script) {
        if (typeof op === "number") {
          take(Math.abs(op), 0, op > 0 ? "" : "removed");
        } else if (op[0] > 0) {
          take(op[0], op[1], "");
        } else if (op[0] < 0) {
          lines.push([op[1], op[2], ""]);
          at += 1;
        } else {
          for (let n = 1; n < op.length; n += 2) lines.push([op[n], op[n + 1], "added"]);
        }
      }
    }
    return lines;
  }

  // Appends the text with spans around keywords, hardware names and comments.
  function highlight(line, text) {
    const pattern = /(\/\/ .*|# .*|#pragma.*|#include.*)|([A-Za-z_][A-Za-z_0-9.]*)|([^A-Za-z_#/]+|.)/g;
    for (const [whole, comment, word] of text.matchAll(pattern)) {
      const css = comment ? (whole.startsWith("#p") || whole.startsWith("#i") ? "hardware" : "comment")
        : word && keywords.has(word) ? "keyword" : word && hardware.test(word) ? "hardware" : "";
      line.append(css ? element("span", css, whole) : whole);
    }
  }

  function Steps(root) {
    let steps = null;
    const panes = ["program", "kernels", "cuda"].map((name) => ({
      name, figure: root.querySelector("." + name), pre: root.querySelector("." + name + " pre"),
      code: root.querySelector("." + name + " code"), lines: []
    }));
    const slider = root.querySelector("input[type=range]");
    const [previous, next] = [root.querySelector(".previous"), root.querySelector(".next")];
    const directive = root.querySelector(".directive"), status = root.querySelector(".linked-lines");
    const showKernel = root.querySelector(".show-kernel");
    const list = [...root.querySelectorAll(".directives li")];
    const last = Number(slider.max);
    let keeps = false; // keeps the marks while the page scrolls below the mouse
    const refused = (step) => steps.refused && step === last;
    const owed = root.querySelector(".owed") || element("div", "owed");
    owed.hidden = owed.parentElement === null;
    root.querySelector(".panes").append(owed);

    function draw(pane, step) {
      pane.lines = [];
      pane.code.replaceChildren();
      let number = 0;
      for (const [indent, id, mark] of replay(steps[pane.name], step + 1)) {
        if (mark === "removed" && pane.name !== "program") continue;
        const culprit = refused(step) && /^\^+$/.test(textOf(id)); // a mark below the line before
        const line = element(mark === "removed" ? "del" : mark === "added" && !culprit ? "ins" : "span",
          culprit ? "line culprit" : "line");
        highlight(line, " ".repeat(indent) + textOf(id));
        pane.code.append(line, "\n");
        if (mark !== "removed" && !culprit) number += 1;
        pane.lines.push({ element: line, keys: mark === "removed" ? [] : keysOf(id), number });
      }
      pane.current = -1;
    }

    function show(step) {
      steps = steps || data(root.dataset.steps);
      slider.value = step;
      const command = steps.directives[step];
      const name = command || (step === 0 ? labels.computation : "");
      slider.setAttribute("aria-valuetext", `${step}: ${name}` + (refused(step) ? ` (${labels.refused})` : ""));
      directive.replaceChildren(element("span", "count", `${step} / ${last}`), " ",
        command ? element("code", "", command) : name);
      if (refused(step)) directive.append(" ", element("span", "verdict bad", labels.refused));
      previous.disabled = step === 0;
      next.disabled = step === last;
      list.forEach((item, n) => {
        if (n === step) item.setAttribute("aria-current", "step");
        else item.removeAttribute("aria-current");
      });
      for (const pane of panes) draw(pane, step);
      const open = steps.owed[step], refusal = steps.refusals[step];
      owed.hidden = open.length === 0 && !refusal;
      const items = element("ul");
      items.lang = "en";
      for (const message of refusal ? [refusal] : open.map(textOf)) items.append(element("li", "", message));
      owed.replaceChildren(element("h4", "", refusal ? labels.refused : labels.owed), items);
      if (!refusal) owed.append(element("p", "", labels.not_lowered));
      const lowered = open.length === 0 && !refusal;
      panes[1].figure.hidden = !lowered || !showKernel.checked;
      panes[2].figure.hidden = !lowered || showKernel.checked;
      status.textContent = "";
    }

    // The accesses of a line of CUDA text: their lines in the list of tools/pages/pictures.js.
    const accessesOf = (pane, line) => line && pane.name === "cuda" && Number(slider.value) === last
      ? [...root.closest("section").querySelectorAll(`.of-line[data-line="${line.number}"]`)] : [];

    // Marks a line and the lines that have a key in common with it.
    function link(pane, number, announce) {
      for (const other of panes)
        for (const line of other.lines) line.element.classList.remove("linked", "current");
      status.textContent = "";
      pane.current = number;
      const line = pane.lines[number];
      if (!line) return;
      line.element.classList.add("current");
      const linked = [];
      for (const other of panes) {
        if (other === pane || other.figure.hidden) continue;
        const numbers = [];
        for (const candidate of other.lines)
          if (candidate.keys.some((key) => line.keys.includes(key))) {
            candidate.element.classList.add("linked");
            numbers.push(candidate.number);
          }
        if (numbers.length > 0) linked.push(`${other.figure.querySelector("figcaption").textContent} ${numbers.join(", ")}`);
        if (announce && numbers.length > 0) scrollTo(other, numbers[0]);
      }
      const accesses = accessesOf(pane, line).map((it) => it.closest("li").value);
      if (accesses.length > 0) linked.push(labels.accesses.replace("{}", accesses.join(", ")));
      status.textContent = linked.length > 0 ? labels.links.replace("{}", linked.join("; ")) : labels.no_links;
    }

    // Scrolls inside of the pane only.
    function scrollTo(pane, number) {
      const line = pane.lines.find((candidate) => candidate.number === number).element;
      const top = line.offsetTop; // the pane is positioned
      if (top < pane.pre.scrollTop || top > pane.pre.scrollTop + pane.pre.clientHeight - 40)
        pane.pre.scrollTop = Math.max(0, top - pane.pre.clientHeight / 3);
    }

    for (const pane of panes) {
      const number = (event) => {
        const target = event.target.closest(".line");
        return pane.lines.findIndex((line) => line.element === target);
      };
      pane.pre.addEventListener("mouseover", (event) => { if (!keeps && number(event) >= 0) link(pane, number(event), false); });
      pane.pre.addEventListener("click", (event) => { if (number(event) >= 0) link(pane, number(event), true); });
      const showAccess = () => {
        const [access] = accessesOf(pane, pane.lines[pane.current]);
        if (access) access.dispatchEvent(new CustomEvent("showaccess", { bubbles: true }));
      };
      pane.pre.addEventListener("dblclick", showAccess);
      pane.pre.addEventListener("keydown", (event) => {
        if (event.key === "Enter") showAccess();
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        link(pane, Math.min(Math.max(pane.current + by, 0), pane.lines.length - 1), true);
        scrollTo(pane, pane.lines[pane.current].number);
      });
    }
    root.addEventListener("mousemove", (event) => { if (event.movementX || event.movementY) keeps = false; });
    root.addEventListener("showline", (event) => {
      const cuda = panes[2];
      keeps = true;
      showKernel.checked = false;
      show(last);
      link(cuda, event.detail - 1, true);
      scrollTo(cuda, event.detail);
      cuda.pre.focus({ preventScroll: true });
      cuda.figure.scrollIntoView({ block: "nearest" });
    });
    slider.addEventListener("input", () => show(Number(slider.value)));
    previous.addEventListener("click", () => show(Math.max(0, Number(slider.value) - 1)));
    next.addEventListener("click", () => show(Math.min(last, Number(slider.value) + 1)));
    showKernel.addEventListener("change", () => show(Number(slider.value)));
    list.forEach((item, n) => {
      const button = element("button", "jump");
      button.type = "button";
      button.append(...item.childNodes);
      button.addEventListener("click", () => show(n));
      item.append(button);
    });
    root.querySelector(".controls").hidden = false;
    panes[1].figure.hidden = true;
    next.disabled = true;
    // The page already shows the last step. Its links are made when it is near the screen, so that the page opens at once.
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        if (steps) return;
        show(last);
        const kernel = panes[2].lines.find((line) => line.element.textContent.includes("__global__"));
        if (kernel) panes[2].pre.scrollTop = kernel.element.offsetTop - 8; // below the helpers
      }
    }, { rootMargin: "1000px" });
    observer.observe(root);
  }

  document.querySelectorAll(".steps").forEach(Steps);
})();
