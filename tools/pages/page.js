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
      name, figure: root.querySelector("." + name), title: root.querySelector("." + name + " .title").textContent,
      caption: root.querySelector("." + name + " figcaption"), pre: root.querySelector("." + name + " pre"),
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
    root.querySelector(".lowered").prepend(owed);
    const costsText = root.querySelector(".costs-text");
    const address = (step) => `#${encodeURI(root.dataset.address)}/step${step}`;

    // A line of the CUDA text with its cost, which a style shows beside it, so that the text of the line is the code.
    function addCosts(pane) {
      let most = 0;
      for (const [, , share] of steps.costs) most = Math.max(most, share);
      for (const [number, text, share] of steps.costs) {
        const line = pane.lines.find((candidate) => candidate.number === number);
        if (!line) continue;
        const percent = share < 0.005 ? "" : ` ${Math.round(100 * share)} %`;
        line.cost = text + (percent && "," + percent);
        line.element.dataset.cost = text.replace(/ (?!wf|sec)/g, "");
        line.element.dataset.share = percent;
        line.element.style.setProperty("--share", `${Math.round(100 * Math.min(share, 1))}%`);
        if (share === most && share > 0.05) line.element.classList.add("dearest");
      }
    }

    // Folds the functions before a kernel, with the comments above each.
    function foldHelpers(pane) {
      const texts = pane.lines.map((line) => line.element.textContent);
      for (let n = 0; n < texts.length; ++n) {
        if (!/^(template\b.*)?(static )?(inline )?__device__/.test(texts[n])) continue;
        let first = n, end = n;
        while (first > 0 && /^(\/\/|template\b|$)/.test(texts[first - 1])) --first;
        while (texts[first] === "" && first < n) ++first;
        for (;;) { // functions in a row are one fold
          while (end + 1 < texts.length && !/^}|;$|^[^ ].*}$/.test(texts[end])) ++end;
          if (/^[^ ].*;$/.test(texts[end]) || /^}|}$/.test(texts[end])) ++end; else break;
          let next = end;
          while (next < texts.length && /^(\/\/.*|template\b.*)?$/.test(texts[next])) ++next;
          if (next < texts.length && /^(static )?(inline )?__device__/.test(texts[next])) end = next; else break;
        }
        const fold = element("span", "helpers");
        fold.hidden = !unfolded;
        const button = element("button", "fold", labels.helpers.replace("{}", end - first));
        button.type = "button";
        button.setAttribute("aria-expanded", String(unfolded));
        button.addEventListener("click", () => unfold(!unfolded));
        pane.lines[first].element.before(button, "\n", fold);
        for (const line of pane.lines.slice(first, end)) {
          line.element.nextSibling.remove();
          fold.append(line.element, "\n");
        }
        n = end;
      }
    }
    let unfolded = false;
    function unfold(open) {
      unfolded = open;
      for (const fold of root.querySelectorAll(".helpers")) fold.hidden = !open;
      for (const button of root.querySelectorAll(".fold")) button.setAttribute("aria-expanded", String(open));
    }

    function draw(pane, step) {
      pane.lines = [];
      pane.code.replaceChildren();
      const from = pane.name === "program" ? step : steps.kernel_of[step]; // the step of which this is the text
      let number = 0;
      for (const [indent, id, mark] of replay(steps[pane.name], step + 1)) {
        if (mark === "removed" && pane.name !== "program") continue;
        const culprit = pane.name === "program" && refused(step) && /^\^+$/.test(textOf(id)); // a mark below the line before
        const line = element(mark === "removed" ? "del" : mark === "added" && !culprit ? "ins" : "span",
          culprit ? "line culprit" : "line");
        highlight(line, " ".repeat(indent) + textOf(id));
        pane.code.append(line, "\n");
        if (mark !== "removed" && !culprit) number += 1;
        pane.lines.push({ element: line, keys: mark === "removed" ? [] : keysOf(id), number });
      }
      pane.current = -1;
      const stale = from !== step && from >= 0;
      pane.figure.classList.toggle("stale", stale);
      pane.caption.replaceChildren(element("span", "title", pane.title),
        stale ? ", " + labels.kernel_of.replace("{}", from) : "");
      if (pane.name !== "cuda") return;
      const priced = step === last && !stale && steps.costs.length > 0;
      pane.figure.classList.toggle("priced", priced);
      if (costsText) costsText.hidden = !priced || showKernel.checked;
      if (priced) addCosts(pane);
      foldHelpers(pane);
    }

    // Scrolls each text to its first changed line.
    function showChange() {
      for (const pane of panes) {
        if (pane.figure.hidden) continue;
        const changed = pane.lines.find((line) => /^(INS|DEL)$/.test(line.element.tagName) && !line.element.closest("[hidden]"));
        if (changed) scrollToLine(pane, changed);
      }
    }

    function show(step) {
      steps = steps || data(root.dataset.steps);
      slider.value = step;
      const command = steps.directives[step];
      const name = command || (step === 0 ? labels.computation : "");
      slider.setAttribute("aria-valuetext", `${step}: ${name}` + (refused(step) ? ` (${labels.refused})` : ""));
      const count = element("a", "count", `${step} / ${last}`);
      count.href = address(step);
      count.title = labels.address;
      directive.replaceChildren(count, " ",
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
      const shown = steps.kernel_of[step] >= 0;
      if (!refusal) owed.append(element("p", "", shown ? labels.not_lowered : labels.no_kernel_yet));
      panes[1].figure.hidden = !shown || !showKernel.checked;
      panes[2].figure.hidden = !shown || showKernel.checked;
      status.textContent = "";
    }

    // A step that the reader chose: its change is scrolled into view, and the address of the page is that of the step. Browsers
    // limit the number of changes of the address, so it changes when the slider rests.
    let resting = 0;
    function choose(step) {
      show(step);
      showChange();
      clearTimeout(resting);
      resting = setTimeout(() => history.replaceState(null, "", address(step)), 250);
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
        if (numbers.length > 0) linked.push(`${other.title} ${numbers.join(", ")}`);
        if (announce && numbers.length > 0) scrollTo(other, numbers[0]);
      }
      if (line.cost) linked.push(line.cost);
      const accesses = accessesOf(pane, line).map((it) => it.closest("li").value);
      if (accesses.length > 0) linked.push(labels.accesses.replace("{}", accesses.join(", ")));
      status.textContent = linked.length > 0 ? labels.links.replace("{}", linked.join("; ")) : labels.no_links;
    }

    // Scrolls inside of the pane only.
    function scrollToLine(pane, line) {
      if (line.element.closest("[hidden]")) unfold(true);
      const top = line.element.offsetTop; // the pane is positioned
      if (top < pane.pre.scrollTop || top > pane.pre.scrollTop + pane.pre.clientHeight - 40)
        pane.pre.scrollTop = Math.max(0, top - pane.pre.clientHeight / 3);
    }
    function scrollTo(pane, number) {
      scrollToLine(pane, pane.lines.find((candidate) => candidate.number === number));
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
    slider.addEventListener("input", () => choose(Number(slider.value)));
    previous.addEventListener("click", () => choose(Math.max(0, Number(slider.value) - 1)));
    next.addEventListener("click", () => choose(Math.min(last, Number(slider.value) + 1)));
    showKernel.addEventListener("change", () => show(Number(slider.value)));
    list.forEach((item, n) => {
      const link = element("a", "jump");
      link.href = address(n);
      link.append(...item.childNodes);
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab or window
        event.preventDefault();
        choose(n);
        root.scrollIntoView({ block: "nearest" });
      });
      item.append(link);
    });
    root.addEventListener("showstep", (event) => {
      show(Math.min(event.detail, last));
      root.scrollIntoView();
      showChange();
    });
    for (const controls of root.querySelectorAll(".controls")) controls.hidden = false;
    panes[1].figure.hidden = true;
    next.disabled = true;
    // The page already shows the last step. Its links are made when it is near the screen, so that the page opens at once.
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        if (steps) return;
        show(last);
      }
    }, { rootMargin: "1000px" });
    observer.observe(root);
  }

  document.querySelectorAll(".steps").forEach(Steps);

  // The address of a step: "#ladder/tile2d/step12". That of a rung is the identifier of its heading.
  function goToStep() {
    let place = "";
    try {
      place = decodeURIComponent(location.hash.slice(1));
    } catch { // not an address of this page
    }
    const [, address, step] = place.match(/^(.*)\/step(\d+)$/) || [];
    for (const root of document.querySelectorAll(".steps"))
      if (root.dataset.address === address) root.dispatchEvent(new CustomEvent("showstep", { detail: Number(step) }));
  }
  window.addEventListener("hashchange", goToStep);
  goToStep();

  // Says which tables scroll.
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth + 1);
  });
  const watch = (wide) => {
    wide.dataset.hint = labels.scrolls;
    watcher.observe(wide);
  };
  document.querySelectorAll(".wide").forEach(watch);
  document.addEventListener("widetable", (event) => watch(event.detail)); // of tools/pages/pictures.js
})();
