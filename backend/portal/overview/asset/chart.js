// Draws the figure of the overview by day or week. The page has the same numbers as a table.
(function () {
  "use strict";
  var plot = null;

  // A colour of the theme, as the element that has it shows it.
  function colour(selector) { return getComputedStyle(document.querySelector(selector)).color; }

  function number(n) { return n.toLocaleString(undefined, { numberingSystem: "latn" }); }

  var medium = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC", numberingSystem: "latn" });
  function day(seconds) { return medium.format(seconds * 1000); }

  function draw() {
    if (plot) plot.destroy();
    plot = null;
    var box = document.getElementById("chart");
    var data = document.getElementById("chart-data");
    if (!box || !data) return;
    data = JSON.parse(data.textContent);
    var tip = box.querySelector(".chart-tip");
    var spoken = document.getElementById("chart-point");
    var ink = colour(".legend .now"), faded = colour(".legend .before");
    var line = getComputedStyle(box.closest(".card")).borderTopColor;
    var font = "12px " + getComputedStyle(document.body).fontFamily;
    var single = data.starts.length === 1;
    var points = { show: single, size: 8 };
    var long = data.starts[data.starts.length - 1] - data.starts[0] > 200 * 86400;
    var days = new Intl.DateTimeFormat(undefined, long ? { month: "short", year: "2-digit", timeZone: "UTC", numberingSystem: "latn" } : { day: "numeric", month: "short", timeZone: "UTC", numberingSystem: "latn" });
    plot = new uPlot({
      width: box.clientWidth,
      height: box.clientHeight,
      padding: [10, 12, 0, 0],
      tzDate: function (at) { return uPlot.tzDate(new Date(at * 1000), "Etc/UTC"); },
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
      scales: {
        // A single day is in the middle, and a scale of numbers begins at 0.
        x: single ? { range: [data.starts[0] - 43200, data.starts[0] + 43200] } : {},
        y: { range: function (_, __, most) { return [0, Math.max(4, most * 1.08)]; } },
      },
      series: [
        {},
        { stroke: faded, width: 2, dash: [5, 5], points: points },
        { stroke: ink, width: 2.5, fill: ink.replace("rgb(", "rgba(").replace(")", ", 0.1)"), points: points },
      ],
      axes: [
        { stroke: faded, font: font, grid: { show: false }, ticks: { stroke: line, width: 1 },
          values: function (_, all) { return all.map(function (at) { return days.format(at * 1000); }); },
          splits: single ? function () { return [data.starts[0]]; } : undefined },
        { stroke: faded, font: font, size: 56, grid: { stroke: line, width: 1 }, ticks: { show: false },
          values: function (_, all) { return all.map(function (n) { return Number.isInteger(n) ? number(n) : ""; }); } },
      ],
      hooks: {
        setCursor: [function (u) { point(u.cursor.idx, u.cursor.left); }],
      },
    }, [data.starts, data.before, data.now], box);

    function text(i) {
      return [day(data.starts[i]) + ": " + number(data.now[i]), day(data.startsBefore[i]) + ": " + number(data.before[i])];
    }
    function point(i, left) {
      tip.hidden = i == null || left == null || left < 0;
      if (tip.hidden) return;
      tip.replaceChildren.apply(tip, text(i).map(function (line, n) {
        var p = document.createElement("p");
        p.className = "key " + (n ? "before" : "now");
        p.textContent = line;
        return p;
      }));
      var at = left + plot.bbox.left / devicePixelRatio;
      var right = at + 12 + tip.offsetWidth > box.clientWidth;
      tip.style.left = (right ? Math.max(0, at - 12 - tip.offsetWidth) : at + 12) + "px";
    }
    function go(i) {
      i = Math.max(0, Math.min(data.starts.length - 1, i));
      plot.setCursor({ left: plot.valToPos(data.starts[i], "x"), top: plot.valToPos(data.now[i], "y") });
      spoken.textContent = text(i).join(". ");
    }
    box.onkeydown = function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      var at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
      var to = { ArrowLeft: at === null ? data.starts.length - 1 : at - 1, ArrowRight: at === null ? 0 : at + 1, Home: 0, End: data.starts.length - 1 }[event.key];
      if (to !== undefined) {
        event.preventDefault();
        go(to);
      } else if (event.key === "Escape") {
        plot.setCursor({ left: -10, top: -10 });
      }
    };
    box.onblur = function () { plot.setCursor({ left: -10, top: -10 }); };
  }

  var size = new ResizeObserver(function () {
    var box = document.getElementById("chart");
    if (plot && box && box.clientWidth && box.clientWidth !== plot.width) plot.setSize({ width: box.clientWidth, height: box.clientHeight });
  });
  function begin() {
    draw();
    size.disconnect();
    var box = document.getElementById("chart");
    if (box) size.observe(box);
  }
  document.addEventListener("htmx:afterSettle", begin);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  begin();
})();
