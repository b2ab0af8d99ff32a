// What the page can do beyond being read: sort, filter, and stay current. All content comes from the daemon as HTML, by one way; this script
// fetches the page anew and puts into place what has changed, so that focus, scroll position and what is open stay as they are.
"use strict";
(() => {
  const root = document.body.dataset.root;
  const main = document.getElementById("main");
  const live = document.getElementById("live");
  const announce = document.getElementById("announce");
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ---- What is sorted and filtered how stands in the address, so that a reload and a link keep it.
  const view = {sort: "", desc: false, q: "", health: ""};
  const readHash = () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    view.sort = hash.get("sort") || "";
    view.desc = hash.get("dir") === "desc";
    view.q = hash.get("q") || "";
    view.health = hash.get("health") || "";
  };
  const writeHash = () => {
    const hash = new URLSearchParams();
    if (view.sort) hash.set("sort", view.sort);
    if (view.sort && view.desc) hash.set("dir", "desc");
    if (view.q) hash.set("q", view.q);
    if (view.health) hash.set("health", view.health);
    const text = hash.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  };

  // Columns in which the largest value is looked for.
  const largestFirst = new Set(["p50", "p95", "errors", "rate", "budget"]);

  // compare puts numbers before texts in their order; what is absent comes last in both directions.
  const compare = (a, b, desc) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = isNaN(a) || isNaN(b) ? a.localeCompare(b, undefined, {numeric: true}) : a - b;
    return desc ? -order : order;
  };

  // arrange sorts and filters the table within a main, be it shown or about to be.
  const arrange = (within) => {
    const table = $("#fleet", within);
    if (!table) return;
    const heads = $$("thead th", table);
    const sort = $("#sort", within);
    const by = heads.some((th) => th.dataset.sort === view.sort) ? view.sort : "health";
    for (const th of heads) {
      if (!th.dataset.sort) continue;
      if (!th.firstElementChild) {
        const button = document.createElement("button");
        button.type = "button";
        button.id = "by-" + th.dataset.sort;
        button.textContent = th.textContent;
        th.replaceChildren(button);
        sort.add(new Option(th.textContent, th.dataset.sort));
      }
      if (th.dataset.sort === by) th.setAttribute("aria-sort", view.desc ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
    for (const o of sort.options) o.toggleAttribute("selected", o.value === by);
    sort.value = by;
    const column = heads.findIndex((th) => th.dataset.sort === by);
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const rank = (row) => row.cells[0].dataset.v;
    const key = (row) => {
      const cell = row.cells[column];
      return cell.dataset.v ?? (cell.tagName === "TH" ? row.dataset.target : cell.textContent);
    };
    const wanted = rows.map((row) => [key(row), rank(row), row]);
    wanted.sort((a, b) => compare(a[0], b[0], view.desc) || a[1] - b[1]);
    if (wanted.some(([, , row], i) => row !== rows[i])) body.append(...wanted.map((w) => w[2]));
    const words = view.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const match = (!view.health || row.dataset.health === view.health) && words.every((w) => text.includes(w));
      row.toggleAttribute("hidden", !match);
      shown += match;
    }
    $("#shown", within).textContent = shown === rows.length ? "" : `${shown} of ${rows.length} targets match the filter`;
    for (const chip of $$("[data-filter]", within)) chip.setAttribute("aria-pressed", String(chip.dataset.filter === view.health));
    const q = $("#q", within);
    if (q.value !== view.q) q.value = view.q;
  };
  const change = (what) => {
    Object.assign(view, what);
    writeHash();
    const focused = document.activeElement;
    arrange(main);
    if (focused !== document.activeElement) focused.focus({preventScroll: true});
  };
  main.addEventListener("click", (e) => {
    const chip = e.target.closest("[data-filter]");
    if (chip) change({health: view.health === chip.dataset.filter ? "" : chip.dataset.filter});
    const by = e.target.closest("th[data-sort] button");
    if (by) sortBy(by.parentElement.dataset.sort);
  });
  const sortBy = (name) => {
    if (name === (view.sort || "health")) change({sort: name, desc: !view.desc});
    else change({sort: name, desc: largestFirst.has(name)});
  };
  main.addEventListener("input", (e) => {
    if (e.target.id === "q") change({q: e.target.value});
    if (e.target.id === "sort") sortBy(e.target.value);
  });
  main.addEventListener("submit", (e) => e.preventDefault());
  addEventListener("hashchange", () => {
    readHash();
    arrange(main);
  });

  // ---- Times go on between two looks, by the daemon's clock.
  let ahead = 0; // of the daemon's clock, in ms
  const span = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
  };
  const age = () => {
    const now = Date.now() + ahead;
    for (const time of $$("time[data-age]", main)) {
      const text = span(now - Date.parse(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // ---- morph makes one element like another with as few changes as there are differences. What has an id keeps it.
  const clientOwned = (node, name) => name === "open" && node.nodeName === "DETAILS";
  const morph = (old, fresh) => {
    if (old.isEqualNode(fresh) || old.hasAttribute("data-keep")) return;
    for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name) && !clientOwned(old, name)) old.removeAttribute(name);
    for (const {name, value} of fresh.attributes) if (old.getAttribute(name) !== value && !clientOwned(old, name)) old.setAttribute(name, value);
    const known = new Map();
    for (const child of old.children) if (child.id) known.set(child.id, child);
    let at = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      let same = next.id ? known.get(next.id) : at;
      if (same && (same.nodeName !== next.nodeName || (same.id || "") !== (next.id || ""))) same = null;
      if (!same) {
        old.insertBefore(document.importNode(next, true), at);
        continue;
      }
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      if (same.nodeType === Node.ELEMENT_NODE) morph(same, next);
      else if (same.data !== next.data) same.data = next.data;
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  // ---- Charts: uPlot draws what the table of points says; without it the pictures of the daemon stay.
  const charts = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const looks = {p50: ["--p50", []], p95: ["--p95", [6, 3]], bad: ["--failing", []], lost: ["--calm", [2, 3]], good: ["--p50", []]};
  const say = (unit) => (v) => {
    if (v == null) return "–";
    if (unit === "ms") return v < 1000 ? `${+v.toPrecision(3)} ms` : `${+(v / 1000).toPrecision(3)} s`;
    return +v.toPrecision(3) + (unit === "%" ? " %" : "");
  };
  const utc = (seconds, end) => new Date(seconds * 1000).toISOString().slice(11, end);
  // alone finds the values without neighbours, which no line shows.
  const alone = (u, series) => {
    const values = u.data[series];
    return values.map((v, i) => (v != null && values[i - 1] == null && values[i + 1] == null ? i : -1)).filter((i) => i >= 0);
  };
  const options = (figure, lines, width) => {
    const text = say(figure.dataset.unit);
    const axis = {stroke: colour("--muted"), grid: {stroke: colour("--line"), width: 1}, ticks: {show: false}, font: "11px system-ui, sans-serif"};
    return {
      width, height: 170,
      padding: [8, 16, 0, 0],
      cursor: {sync: {key: "hour"}, y: false, drag: {x: false, y: false}, points: {size: 6}},
      scales: {
        x: {range: () => [(Date.now() + ahead) / 1000 - 3600, (Date.now() + ahead) / 1000]},
        y: {range: (u, min, max) => [0, figure.dataset.unit === "%" ? 100 : (max || 1) * 1.08]},
      },
      axes: [{...axis, size: 28, space: 70, values: (u, at) => at.map((t) => utc(t, 16))}, {...axis, size: 48, values: (u, at) => at.map((v) => (v === 0 ? "0" : text(v)))}],
      series: [
        {},
        ...lines.map(([, look]) => ({stroke: colour(looks[look][0]), dash: looks[look][1], width: 1.5, points: {size: 4, filter: alone}})),
      ],
      legend: {show: false},
      hooks: {setCursor: [(u) => {
        const i = u.cursor.idx;
        const parts = i == null ? [] : [utc(u.data[0][i], 19), ...lines.map(([, , name], n) => `${name} ${text(u.data[n + 1][i])}`)];
        $(".now", figure).textContent = parts.join(" · ");
      }]},
    };
  };
  const sizes = new ResizeObserver((entries) => {
    for (const {target, contentRect} of entries) {
      const chart = charts.get(target);
      const width = Math.floor(contentRect.width);
      if (chart && width > 0 && width !== chart.width) chart.setSize({width, height: 170});
    }
  });
  const draw = () => {
    const points = $("#points", main);
    if (!points || !window.uPlot) return;
    const rows = [...points.tBodies[0].rows].reverse();
    if (rows.length === 0) return;
    const times = rows.map((row) => Date.parse($("time", row).dateTime) / 1000);
    const numbers = rows.map((row) => [...row.cells].slice(1).map((cell) => (cell.textContent === "–" ? null : +cell.textContent)));
    for (const figure of $$("[data-chart]", main)) {
      const lines = figure.dataset.lines.split(",").map((line) => line.split(":"));
      const data = [times, ...lines.map(([column]) => numbers.map((row) => row[+column]))];
      const known = charts.get(figure);
      if (known) {
        known.setData(data);
        continue;
      }
      figure.classList.add("drawn");
      const host = $(".live", figure);
      host.setAttribute("aria-hidden", "true");
      const width = Math.floor($("figcaption", figure).clientWidth);
      charts.set(figure, new window.uPlot(options(figure, lines, width), data, host));
      sizes.observe(figure);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts.values()) chart.destroy();
    charts.clear();
    draw();
  });

  // ---- Staying current.
  const adopt = (fresh) => {
    for (const figure of charts.keys()) $("#" + figure.id, fresh)?.classList.add("drawn");
    arrange(fresh);
    const focused = document.activeElement;
    morph(main, fresh);
    if (focused !== document.activeElement && main.contains(focused)) focused.focus({preventScroll: true});
  };
  const clock = () => {
    ahead = Date.parse(main.dataset.now) - Date.now();
  };
  const tell = (text) => {
    if (announce.textContent !== text) announce.textContent = text;
  };
  let lost = 0; // when the connection was, in ms; 0 = it is not
  const moment = (ms) => new Date(ms).toISOString().slice(11, 19) + " UTC"; // of the daemon's clock
  const mistrust = () => {
    document.body.classList.toggle("stale", lost > 0);
    const stale = $("#stale", main);
    stale.hidden = !lost;
    if (lost && !stale.textContent) stale.textContent = `Connection lost since ${moment(lost + ahead)}. What is shown is of ${moment(Date.parse(main.dataset.now))} and may not hold any more.`;
  };
  const show = () => {
    const state = lost ? "lost" : events && events.readyState === EventSource.OPEN ? "live" : "poll";
    mistrust();
    if (live.dataset.state === state) return;
    live.dataset.state = state;
    live.textContent = {lost: "connection lost, retrying", live: "live", poll: "looks every 10 s"}[state];
  };

  let events = null;
  let timer = 0;
  let busy = false;
  let pause = 1500; // ms between two looks: never more than a fifth of the time goes into looking
  let ended = Date.now();
  const again = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, ms);
  };
  const rhythm = () => {
    if (lost) return 2000;
    if (document.hidden) return 60000;
    return events && events.readyState === EventSource.OPEN ? 30000 : 10000;
  };
  const refresh = async () => {
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    const began = Date.now();
    try {
      const answer = await fetch(location.pathname + location.search, {cache: "no-store", headers: {Accept: "text/html"}, signal: AbortSignal.timeout(20000)});
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("main");
      if (!fresh || answer.status >= 500) throw new Error(`status ${answer.status}`);
      if (page.body.dataset.build !== document.body.dataset.build) return location.reload();
      const before = main.dataset.verdict;
      document.title = page.title;
      adopt(fresh);
      clock();
      age();
      draw();
      if (lost) tell("connected again");
      if (main.dataset.verdict !== before) tell(main.dataset.verdict);
      lost = 0;
      listen();
    } catch {
      if (!lost) tell("connection lost, retrying");
      lost ||= Date.now();
    }
    busy = false;
    ended = Date.now();
    pause = Math.max(1500, 4 * (ended - began));
    show();
    again(rhythm());
  };
  const soon = () => {
    if (!busy && !document.hidden) again(Math.max(0, ended + pause - Date.now()));
    else if (busy) setTimeout(soon, 250);
  };
  // listen asks the daemon to say when something has changed. One that was refused is asked again with the next look.
  const listen = () => {
    if (document.hidden || !window.EventSource || (events && events.readyState !== EventSource.CLOSED)) return;
    events = new EventSource(root + "api/v1/events");
    events.onopen = () => {
      show();
      soon();
    };
    for (const name of ["targets", "failure"]) events.addEventListener(name, () => $("#missing") || soon());
    events.addEventListener("reload", soon); // which may bring back a target that is missing
    events.onerror = () => {
      show();
      soon();
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return refresh();
    events?.close();
    again(rhythm());
  });

  document.body.classList.add("scripted");
  readHash();
  arrange(main);
  clock();
  draw();
  listen();
  again(10000);
  setInterval(age, 1000);
})();
