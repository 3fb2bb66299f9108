"use strict";
// Panels of one block share a stretch of time; their heights follow what is seen in it.
for (const block of document.querySelectorAll(".traces")) {
  const panels = [...block.querySelectorAll(".trace")].map(read);
  if (!panels.length) continue;
  const begin = Math.min(...panels.map((p) => p.begin));
  const end = Math.max(...panels.map((p) => p.end));
  const least = Math.max((end - begin) / 2000, 0.02);
  let from = begin, to = end;
  block.classList.add("scripted");

  function read(figure) {
    const plot = figure.querySelector(".plot"), svg = plot.querySelector("svg");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const start = Number(figure.dataset.begin);
    return {
      plot, svg, height, begin: start, end: start + width / 1000,
      low: Number(figure.dataset.low), high: Number(figure.dataset.high),
      unit: figure.dataset.unit,
      curves: [...svg.querySelectorAll("path:not(.simulated-before)")].map(points),
      label: (name) => plot.querySelector("." + name),
    };
  }

  function points(path) {
    const xs = [], ys = [];
    let x = 0, y = 0;
    for (const step of path.getAttribute("d").matchAll(/[ml](-?\d+) (-?\d+)/g)) {
      xs.push(x += Number(step[1]));
      ys.push(y += Number(step[2]));
    }
    return { xs, ys };
  }

  // The highest and lowest that is drawn between two moments, with some air around it.
  function seen(panel, left, right) {
    let top = Infinity, bottom = -Infinity;
    for (const { xs, ys } of panel.curves)
      for (let i = 0; i < xs.length; i++)
        if (xs[i] >= left && xs[i] <= right) {
          top = Math.min(top, ys[i]);
          bottom = Math.max(bottom, ys[i]);
        }
    if (top > bottom) return [0, panel.height];
    const air = Math.max(0.08 * (bottom - top), 0.002 * panel.height);
    return [Math.max(top - air, 0), Math.min(bottom + air, panel.height)];
  }

  const short = (x, span) => x.toFixed(Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(span)))))
    .replace("-", "−");

  function draw() {
    const whole = from === begin && to === end;
    for (const panel of panels) {
      const left = 1000 * (from - panel.begin), right = 1000 * (to - panel.begin);
      const [top, bottom] = whole ? [0, panel.height] : seen(panel, left, right);
      panel.svg.setAttribute("viewBox", `${left} ${top} ${right - left} ${Math.max(bottom - top, 1)}`);
      const value = (y) => panel.high - ((panel.high - panel.low) * y) / panel.height;
      const span = value(top) - value(bottom) || 1;
      panel.label("top").textContent = `${short(value(top), span)} ${panel.unit}`;
      panel.label("bottom").textContent = short(value(bottom), span);
      panel.label("begin").textContent = `${short(from, to - from)} s`;
      panel.label("end").textContent = `${short(to, to - from)} s`;
    }
    block.querySelector("output").textContent = whole
      ? "" : `${short(from, to - from)} to ${short(to, to - from)} s`;
  }

  function show(left, right) {
    const width = Math.min(Math.max(right - left, least), end - begin);
    from = Math.min(Math.max(left, begin), end - width);
    to = from + width;
    if (to - from > 0.999 * (end - begin)) [from, to] = [begin, end];
    draw();
  }
  const scale = (factor, at = (from + to) / 2) =>
    show(at - (at - from) * factor, at + (to - at) * factor);
  const move = (share) => show(from + share * (to - from), to + share * (to - from));
  const acts = {
    in: () => scale(0.5), out: () => scale(2), all: () => show(begin, end),
    back: () => move(-0.25), on: () => move(0.25),
  };
  const keys = {
    "+": "in", "=": "in", "-": "out", ArrowLeft: "back", ArrowRight: "on", 0: "all", Escape: "all",
  };
  for (const button of block.querySelectorAll("button[data-zoom]"))
    button.addEventListener("click", acts[button.dataset.zoom]);

  for (const { plot } of panels) {
    const box = () => plot.getBoundingClientRect();
    const time = (event) => from + ((event.clientX - box().left) / box().width) * (to - from);
    let first = null, brush = null;
    const drop = () => { brush?.remove(); first = brush = null; };
    plot.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[keys[event.key]]();
    });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== plot) return;
      event.preventDefault();
      scale(event.deltaY > 0 ? 1.25 : 0.8, time(event));
    }, { passive: false });
    plot.addEventListener("dblclick", acts.all);
    plot.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      first = { x: event.clientX, at: time(event) };
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      if (!first) return;
      brush ??= plot.appendChild(Object.assign(document.createElement("div"), { className: "brush" }));
      const edge = box().left, a = Math.min(first.x, event.clientX), b = Math.max(first.x, event.clientX);
      brush.style.left = `${a - edge}px`;
      brush.style.width = `${b - a}px`;
    });
    plot.addEventListener("pointerup", (event) => {
      if (first && Math.abs(event.clientX - first.x) > 6) {
        const at = [first.at, time(event)].sort((a, b) => a - b);
        show(at[0], at[1]);
      }
      drop();
    });
    plot.addEventListener("pointercancel", drop);
  }
}
